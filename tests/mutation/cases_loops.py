"""Checks of the steps that change loops: what goes wrong without each."""

from tests.mutation.case import Case
from tuner.schedule.loop_steps import Bind, Fuse, Parallel, Partition
from tuner.schedule.memory_steps import Pad, SetScope
from tuner.schedule.steps import DecomposeReduction, Reorder, Rfactor, Split, Vectorize

SHIFTED = """
    for i in range(3):
        y[i + 1] = y[i] + v[i]
"""
SKEWED = """
    for i in range(2):
        for j in range(2):
            z[i + 1, j] = z[i, j + 1] + x[i, j]
"""
SUM = """
    for i in range(3):
        y[0] += v[i]
"""
NEST = """
    for i in range(2):
        for j in range(2):
            z[i, j] = x[i, j]
"""
#: h is each iteration's own
OWN = """
    for i in parallel(2):
        for j in range(2):
            h[j] = x[i, j]
        for k in range(2):
            z[i, k] = h[1 - k]
"""
#: the second iteration reads what the first has set
KEPT = """
    for i in range(2):
        if i < 1:
            h[0] = v[i]
        y[i] = h[0]
"""
STARTED = """
    for i in range(2):
        h[0] = 0
        for k in range(2):
            h[0] += x[i, k]
        y[i] = h[0]
"""
READ_BEFORE = """
    for a in range(2):
        h[a] = v[a]
    for i in range(2):
        y[i] = h[i]
        h[i] = 0
        for k in range(2):
            h[i] += x[i, k]
    for b in range(2):
        z[b, b] = h[b]
"""
#: the guard of the sum keeps it in bounds
LEAVING = """
    for j in range(5):
        for i in range(2):
            if j + i < 4:
                y[j] += v[i]
"""

_LANES = Case(SHIFTED, Vectorize("i"), "wrong")
_ORDER = Case(SKEWED, Reorder(("j", "i")), "wrong")
_RACE = Case(SUM, Parallel("i"), "races")
_BOUND = Case(SUM, Bind("i", "threadIdx.x"), "races")
_START = Case(STARTED, DecomposeReduction("h", "i", ("t",)), "wrong")
_CARRIED = Case(KEPT, Parallel("i"), "wrong")
_OWN = Case("""
    for i in range(2):
        y[0] += v[i] * y[0]
""", Rfactor("i", "c", "a", "b"), "wrong")  # fmt: skip
_DIFFERENCE = Case("""
    for i in range(2):
        y[0] = v[i] - y[0]
""", Rfactor("i", "c", "a", "b"), "refused")  # fmt: skip

CASES = {
    "annotate.vectorize: check_vectorized()": Case(SHIFTED, Vectorize("i"), "refused"),
    "annotate.check_vectorized: check_lanes()": _LANES,
    "annotate.check_vectorized: only an innermost loop can be vectorized":
        Case(NEST, Vectorize("i"), "breaks"),
    "legality.check_lanes: may meet in different iterations of": _LANES,
    "legality.check_lanes: but not in all: its iterations cannot become lanes":
        Case("""
    for i in range(4):
        y[i // 2] += v[i]
""", Vectorize("i"), "wrong"),
    "legality.equal_loops": _ORDER,
    "dependence.meeting": _ORDER,
    "legality.check_order: these loops must keep their order; reorder the oth": _ORDER,
    "loops.reorder: check_order()": _ORDER,
    "loops.reorder: each loop alone in the one around it; the chain fr":
        Case("""
    for i in range(2):
        y[i] = v[i]
        for j in range(2):
            z[i, j] = x[i, j]
""", Reorder(("j", "i")), "breaks"),
    "loops.fuse: must stand alone directly inside":
        Case("""
    for i in range(2):
        y[0] += v[i]
        for j in range(2):
            z[i, j] = x[i, j]
""", Fuse("i", "j", "f"), "wrong"),
    "loops.split: factor must be between 1 and": Case(SUM, Split("i", -1, "a", "b"), "malformed"),
    "loops.partition: at must be between 1 and":
        Case(NEST, Partition("i", 2, ("a", "b")), "malformed"),
    "parallel.parallel: check_threads()": Case(SUM, Parallel("i"), "refused"),
    "parallel.check_threads: check_parallel()": _RACE,
    "legality.check_parallel: may meet in different iterations of": _RACE,
    "bind.bind: check_bound()": Case(SUM, Bind("i", "threadIdx.x"), "refused"),
    "bind.check_bound: check_parallel()": _BOUND,
    "bind.check_bound: check_axes()":
        Case(NEST.replace("range(2):\n            z", 'bound(2, "threadIdx.x"):\n            z'),
             Bind("i", "threadIdx.x"), "unsaid"),
    "bind.check_axes: stands in the other: choose another axis":
        Case(NEST.replace("range(2):\n            z", 'bound(2, "threadIdx.x"):\n            z'),
             Bind("i", "threadIdx.x"), "unsaid"),
    "bind.check_axes: which is over threads: reorder them first":
        Case(NEST.replace("range(2):\n            z", 'bound(2, "blockIdx.x"):\n            z'),
             Bind("i", "threadIdx.x"), "unsaid"),
    "apply._programs: checks.check()": Case(OWN, SetScope("h", "global"), "races"),
    "loop_kinds._checked_kinds: CHECKS[stmt.kind]()": Case(OWN, SetScope("h", "global"), "races"),
    "nest.check_fresh: is taken; each new one must be unused":
        Case(NEST, Split("i", 2, "j", "a"), "malformed"),
    "nest.find_serial: change a loop before it is annotated":
        Case(OWN, Split("i", 2, "a", "b"), "right"),
    "parallel.parallel: check_one_level()":
        Case(NEST.replace("range(2):\n            z", "parallel(2):\n            z"),
             Parallel("i"), "refused"),
    "parallel.check_one_level: cannot both be parallel, one inside the other: fus":
        Case(NEST.replace("range(2):\n            z", "parallel(2):\n            z"),
             Parallel("i"), "right"),
    "private.defined_first": _CARRIED,
    "private._defines": _CARRIED,
    "private._Writer.allowed": _CARRIED,
    "private._reaches": Case("""
    for i in range(2):
        for a in range(2):
            h[a + i] = v[a]
        y[i] = h[2 - i]
""", Parallel("i"), "wrong"),
    "legality.check_moved_ahead: ScheduleError(f'{why}{pair}')": _START,
    "reduction.decompose_reduction: _check_start()": _START,
    "reduction._check_start: check_moved_ahead()": _START,
    "reduction._start: in one block with its accumulation":
        Case(SUM, DecomposeReduction("y", "i", ("t",)), "breaks"),
    "reduction._accumulation: to carry one accumulating store and nothing else":
        Case("""
    for i in range(2):
        y[0] += v[i]
        z[i, i] = x[i, i]
""", Rfactor("i", "c", "a", "b"), "wrong"),
    "reduction.rfactor: check_own_reads()": _OWN,
    "reducers.check_own_reads: check_read_first()": _OWN,
    "reduction._accumulation: check_declared()": _DIFFERENCE,
    "reducers.check_declared: ScheduleError(f'{show_body((store,)).strip()}: {_w": _DIFFERENCE,
    "reduction._accumulation: reorder these loops outside the reduction first":
        Case("""
    for i in range(2):
        for j in range(2):
            y[j] += x[i, j]
""", Rfactor("i", "c", "a", "b"), "breaks"),
    "reduction._around_total: is in bounds only under a guard over the reduction":
        Case(LEAVING, Rfactor("i", "c", "a", "b"), "malformed"),
    "reduction._start: contains nothing but this assignment":
        Case("""
    for i in range(2):
        y[i] = v[i]
""", DecomposeReduction("y", "i", ("t",)), "right"),
    "region.in_bounds": Case(LEAVING, Rfactor("i", "c", "a", "b"), "malformed"),
    "pad.pad: extent must be between that of": Case(SUM, Pad("i", 2), "wrong"),
    "pad.pad: expected accumulations only; decompose the reducti":
        Case("""
    for i in range(2):
        y[0] = v[i]
""", Pad("i", 3), "wrong"),
    "pad.pad: so that more iterations would leave it: expected a":
        Case("""
    for i in range(4):
        y[i] += v[i]
""", Pad("i", 5), "malformed"),
}  # fmt: skip
