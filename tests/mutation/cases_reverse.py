"""Checks of the steps that move a consumer to its producer: what goes wrong without each."""

from dataclasses import replace

from tests.mutation.case import Case
from tuner.schedule.memory_steps import ReverseComputeAt, ReverseInline

KEPT = """
    for o in range(2):
        for i in range(2):
            if o < 1:
                h[i] = x[o, i]
        for j in range(2):
            z[o, j] = h[j]
"""
#: m is made row by row and used column by column, and y keeps what comes last
CROSSED = """
    for b in range(2):
        for a in range(2):
            m[a, b] = x[a, b]
    for p in range(2):
        for q in range(2):
            y[p + q] = m[p, q]
"""
#: g is still used between where h is made and where g changes
BETWEEN = """
    for e in range(2):
        g[e] = v[e]
    for i in range(2):
        h[i] = v[i]
    for b in range(2):
        z[b, b] = g[b]
    for j in range(2):
        g[j] = h[j] + 1
    for c in range(2):
        y[c] = g[c]
"""
AGAIN = """
    for i in range(2):
        for k in range(2):
            h[i] = x[i, k]
    for j in range(2):
        y[j] += h[j]
"""
TWICE = """
    for i in range(2):
        h[i] = v[i]
    for k in range(2):
        h[k] = v[1 - k]
    for j in range(2):
        y[j] = h[j]
"""
LANES = """
    for i in vectorized(4):
        h[i] = v[i]
    for j in range(4):
        y[j // 2] += h[j]
"""
SHORT = """
    h[2] = v[3]
    for i in range(2):
        h[i] = v[i]
    for j in range(3):
        y[j] = h[j]
"""


def _at(body: str, buffer: str = "y", loop: str = "i") -> Case:
    return Case(body, ReverseComputeAt(buffer, loop), "wrong")


def _inlined(body: str, buffer: str = "h") -> Case:
    return Case(body, ReverseInline(buffer), "wrong")


CASES = {
    "reverse_compute_at.reverse_compute_at: is vectorized: move before vectorizing":
        replace(_at(LANES), becomes="refused"),
    "reverse_compute_at.reverse_compute_at: _check_order()": _at(BETWEEN, "g"),
    "reverse_compute_at._check_order: which may touch the same element": _at(BETWEEN, "g"),
    "reverse_compute_at._check_order: it would run once for each tile": _at("""
    for i in range(2):
        h[i] = v[i]
    for r in range(1):
        z[0, 0] += v[0]
        for j in range(2):
            y[j] = h[j]
"""),
    "reverse_compute_at._check_order: may meet in different tiles, which are computed in":
        _at(CROSSED, "y", "a"),
    "reverse_compute_at.reverse_compute_at: _check_reached()": _at(SHORT),
    "reverse_compute_at._check_reached: uses: the consumer would come short": _at(SHORT),
    "reverse_compute_at._move: in a block around it, computes":
        replace(_at(SHORT, "z"), becomes="breaks"),
    "reverse_compute_at._move: what it keeps out would not be computed": _at("""
    for a in range(2):
        for b in range(2):
            m[a, b] = x[a, b]
    for o in range(2):
        if o < 1:
            for i in range(2):
                m[o, i] = x[i, o]
    for p in range(2):
        for q in range(2):
            z[p, q] = m[p, q]
""", "z"),
    "reverse_compute_at._move: reads nothing that the body of": _at("""
    for i in range(2):
        h[i] = v[i]
    for j in range(2):
        y[j] += v[j]
    for k in range(2):
        z[k, k] = h[k]
"""),
    "reverse_compute_at._tile: is also written beside": _at("""
    for o in range(2):
        for i in range(1):
            h[o] = v[o]
        h[o] = 7
    for j in range(2):
        y[j] = h[j]
"""),
    "reverse_compute_at._tile: _check_final()": _at("""
    for i in range(2):
        h[i] = v[i]
    for b in range(2):
        h[b] = 7
    for j in range(2):
        y[j] = h[j]
"""),
    "reverse_compute_at._check_final: before it is used": _at("""
    for i in range(2):
        h[i] = v[i]
    for b in range(2):
        h[b] = 7
    for j in range(2):
        y[j] = h[j]
"""),
    "reverse_compute_at._check_final: after one of them the consumer would come short of": _at("""
    for i in range(2):
        for e in range(2):
            h[e] = x[i, e]
    for j in range(2):
        y[j] += h[j]
"""),
    "reverse_compute_at._tile: the consumer would come short of the rest": _at("""
    for a in range(6):
        n[a] = 0
    for i in range(2):
        n[2 * i] = v[i]
        n[2 * i + 3] = v[i + 2]
    for j in range(6):
        w[j] += n[j]
""", "w"),
    "reverse_compute_at._match: must be one loop of the nest that computes the buf": _at("""
    for a in range(2):
        h[a] = 0
    for i in range(2):
        h[i] = v[i]
    for j in range(2):
        y[j] += h[1 - j]
"""),
    "reverse_inline.reverse_inline: _check_made()": _inlined(AGAIN),
    "reverse_inline._check_made: is made anew in each iteration of": _inlined(AGAIN),
    "reverse_inline._check_made: does not make: that takes": _inlined(KEPT),
    "reverse_inline.reverse_inline: _check_free()": _inlined(BETWEEN),
    "reverse_inline._check_free: which may touch the same element": _inlined(BETWEEN),
    "motion.meet": _inlined(BETWEEN),
    "motion.meet_apart": _inlined(CROSSED, "m"),
    "reverse_inline._check_free: may meet in different iterations of the consumer":
        _inlined(CROSSED, "m"),
    "reverse_inline._check_free: would move into lanes: vectorize later":
        replace(_inlined(LANES), becomes="refused"),
    "reverse_inline._pair: use reverse_compute_at for what takes several stat":
        replace(_inlined(TWICE), becomes="malformed"),
    "reverse_inline._pair: expected one statement that reads one element of": _inlined("""
    for i in range(2):
        h[i] = v[i]
    for j in range(2):
        y[j] = h[j] + h[1 - j]
"""),
    "reverse_inline._fused: is used in each iteration of":
        replace(_inlined("""
    for i in range(2):
        h[i] = v[i]
    for j in range(2):
        for k in range(2):
            z[j, k] = h[j]
"""), becomes="malformed"),
}  # fmt: skip
