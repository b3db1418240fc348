"""Checks of the steps that change where values are kept or computed: what goes wrong without
each."""

from dataclasses import replace

from tests.mutation.case import Case
from tuner.schedule.memory_steps import CacheRead, Inline, TransformLayout
from tuner.schedule.steps import CacheWrite, ComputeAt, Pack

USED = """
    for i in range(2):
        h[i] = x[i, 0]
    for j in range(2):
        y[j] = h[j]
"""
LANES = """
    for i in range(2):
        h[i] = x[i, 0]
    for j in vectorized(2):
        y[j] = h[j]
"""
#: what is made in the first iteration of o is used in the second, too
KEPT = """
    for o in range(2):
        for i in range(2):
            if o < 1:
                h[i] = x[o, i]
        for j in range(2):
            z[o, j] = h[j]
"""
#: what h is computed from changes before h is used
CHANGED = """
    g[0] = v[0]
    for i in range(2):
        h[i] = g[0]
    g[0] = v[1]
    for j in range(2):
        y[j] = h[j]
"""
#: what one iteration leaves in h is read in the next
USED_UP = """
    for i in range(2):
        h[i] = v[i]
    for j in range(2):
        for k in range(2):
            z[j, k] = h[k]
            h[k] = 7
"""
WRITTEN = """
    for i in range(2):
        h[i] = v[i]
        y[i] = h[i]
"""
#: half of the tile keeps its value
PARTLY = """
    for i in range(1):
        for j in range(2):
            if j < 1:
                y[j] = x[0, j]
"""
HOLES = """
    for i in range(1):
        for j in range(2):
            y[2 * j] = x[0, j]
"""
READ_FIRST = """
    for i in range(1):
        for j in range(2):
            z[0, j] = y[j]
        for k in range(2):
            y[k] = x[1, k]
"""
TWICE = """
    for i in range(2):
        h[i] = v[i]
    for k in range(2):
        h[k] = v[1 - k]
    for j in range(2):
        y[j] = h[j]
"""


def _held(body: str) -> Case:
    """A tile of y in a cache, which is not loaded if all of it is overwritten."""
    return Case(body, CacheWrite("y", "i", "c", (), ("a",), ("b",)), "wrong")


def _at(body: str, becomes: str = "wrong") -> Case:
    return Case(body, ComputeAt("h", "j", ()), becomes)


def _inlined(body: str, becomes: str = "wrong") -> Case:
    return Case(body, Inline("h"), becomes)


_PACKED = Case(WRITTEN, Pack("h", "c", "i", ("0",), ("a",)), "malformed")
_CACHED = Case(WRITTEN, CacheRead("h", "i", "c", "local", (), ("a",)), "malformed")
_BEFORE = replace(_inlined("""
    for a in range(2):
        for i in range(2):
            h[i] = x[a, i]
        for j in range(2):
            if a > 0:
                z[a, j] = h[j]
"""), turned=True)  # fmt: skip

CASES = {
    "cover.overwritten": _held(PARTLY),
    "cover._covers": _held(PARTLY),
    "cover.fills": _held(PARTLY),
    "cover._precedes": replace(_held(READ_FIRST), becomes="malformed"),
    "cover.reaches_all": _held(HOLES),
    "region.only_outside": _held(PARTLY),
    "cache.cache_write: is vectorized: cache before vectorizing":
        Case(LANES, CacheWrite("y", "j", "c", (), ("a",), ("b",)), "refused"),
    "cache.cache_write: never writes":
        Case(LANES, CacheWrite("y", "i", "c", (), ("a",), ("b",)), "breaks"),
    "cache.cache_write: _check_stored_before()":
        Case("""
    for i in range(2):
        if i < 1:
            h[i] = v[i]
    y[0] = h[0]
""", CacheWrite("h", "i", "c", (), ("a",), ("b",)), "malformed"),
    "cache._check_stored_before: and nothing is stored there before that could be l":
        Case("""
    for i in range(2):
        if i < 1:
            h[i] = v[i]
    y[0] = h[0]
""", CacheWrite("h", "i", "c", (), ("a",), ("b",)), "malformed"),
    "region.touched: move apart with the loops around: expected one box":
        Case("""
    for i in range(2):
        y[i] = v[i] + y[2 * i]
""", CacheWrite("y", "i", "c", (), ("a",), ("b",)), "malformed"),
    "cache_read.cache_read: check_read_first()": _CACHED,
    "cache_read.cache_read: is vectorized: cache before vectorizing":
        Case(LANES, CacheRead("h", "j", "c", "local", (), ("a",)), "refused"),
    "cache_read.cache_read: nothing in the body of":
        Case(USED, CacheRead("h", "p_", "c", "local", (), ("a",)), "breaks"),
    "pack.pack: check_read_first()": _PACKED,
    "legality.check_read_first: is written": _PACKED,
    "pack._scope: is vectorized: pack before vectorizing":
        Case(LANES, Pack("h", "c", "j", ("0",), ("a",)), "refused"),
    "pack._scope: nothing in": Case(USED, Pack("h", "c", "p_", ("0",), ("a",)), "breaks"),
    "transform_layout._sizes: state in padded that it is rounded up to":
        Case(USED, TransformLayout("h", ("0//3", "0%3"), ()), "right"),
    "transform_layout._sizes: padded must be () or one extent per dimension of":
        Case(USED, TransformLayout("h", ("0",), (1,)), "malformed"),
    "nest.find_intermediate: is a parameter: only intermediate buffers can be c":
        Case(USED, TransformLayout("y", ("0//2", "0%2"), ()), "malformed"),
    "compute_at.compute_at: is a parameter: only intermediate buffers can move":
        Case("""
    for j in range(2):
        h[j] = y[j]
""", ComputeAt("y", "j", ()), "wrong"),
    "compute_at.compute_at: is vectorized: move before vectorizing": _at(LANES, "refused"),
    "compute_at.compute_at: _check_alone()": _at(USED_UP),
    "compute_at.compute_at: _check_inputs()": _at(CHANGED),
    "compute_at._check_inputs: is written before": _at(CHANGED),
    "compute_at._check_alone: _check_body_writes()": _at(USED_UP),
    "compute_at._check_body_writes: where it would be computed anew": _at(USED_UP),
    "compute_at._check_alone: the nest that writes": _at("""
    for i in range(2):
        h[i] = v[i]
        g[i] = v[i]
    for j in range(2):
        y[j] = h[j] + g[1 - j]
"""),
    "compute_at._check_alone: does not read": _at("""
    for i in range(2):
        h[i] = v[i]
    for j in range(2):
        y[j] = v[j]
""", "breaks"),
    "compute_at._check_alone: is also used outside the nest that writes it and": _at("""
    for i in range(2):
        h[i] = v[i]
    for j in range(2):
        y[j] = h[j]
    for k in range(2):
        z[k, k] = h[k]
""", "malformed"),
    "compute_at.compute_at: _check_overwrites()": _at(KEPT),
    "compute_at._check_overwrites: check_defined()": _at(KEPT),
    "defined.check_defined: ScheduleError(f'{use.text()} {why}{shown}')": _at(KEPT),
    "defined.undefined": _at(KEPT),
    "compute_at._producer: no statement before the nest of": _at("""
    for j in range(2):
        y[j] = v[j]
    for i in range(2):
        h[i] = v[i]
""", "breaks"),
    "compute_at._spatial: must be one loop of the nest that writes the buffe": _at("""
    for i in range(2):
        for k in range(2):
            h[i * 2 + k] = x[i, k]
    for j in range(4):
        y[j] = h[j]
""", "malformed"),
    "inline.inline: check_unchanged()": _inlined(CHANGED),
    "motion.check_unchanged: between where it is read now and where": _inlined(CHANGED),
    "motion.meet_in_order": _inlined(CHANGED),
    "motion._apart": _inlined(CHANGED),
    "motion._together": _inlined("""
    for i in range(2):
        g[0] = v[i]
        h[i] = g[0]
    for j in range(2):
        y[j] = h[j]
"""),
    "inline._source: expected one assignment that computes the buffer": _inlined(TWICE),
    "inline._source: says: what a subscript reads stays in a buffer": _inlined("""
    for i in range(2):
        h[i] = v[i]
    for j in range(2):
        y[j] = v[clamp(h[j], 0, 3)]
""", "right"),
    "inline._source: nothing reads": _inlined("""
    for i in range(2):
        h[i] = v[i]
""", "right"),
    "access.Access.precedes": _BEFORE,
    "inline._value_at: is read before": _BEFORE,
    "inline._value_at: does not write: that takes": _inlined(KEPT),
    "inline.holds": _inlined(KEPT),
    "inline._holds": _inlined(KEPT),
    "inline._iteration: and its subscripts do not tell in which": _inlined("""
    for i in range(2):
        for k in range(2):
            h[i] = x[i, k]
    for j in range(2):
        y[j] = h[j]
"""),
    "inverse._solve: _undetermined(form)": _inlined("""
    for i in range(2):
        for k in range(2):
            h[i - k + 1] = v[i]
    y[0] = h[1]
"""),
    "inverse._solve: _undetermined(form) (2)": _inlined("""
    for i in range(2):
        for k in range(2):
            h[i + k] = v[i]
    y[0] = h[1]
"""),
}  # fmt: skip
