"""A machine model without data: how many cycles a kernel takes, from its features alone.

A nest computes no faster than its arithmetic, its waiting accumulations and its loads allow; what
moves between caches is paid for on top, since one core hides little of it behind full units.
"""

from __future__ import annotations

import numpy as np

from tuner.features.table import FEATURES
from tuner.space.knobs import Floats

#: Bytes per cycle into L1, L2 and L3.
_BYTES_PER_CYCLE = {"l1": 48.0, "l2": 20.0, "l3": 6.0}
#: Cycles for one run of straight code: the loop's own instructions and a late branch.
_BODY_CYCLES = 2.0
#: Cycles for an element that is moved on its own in vector code.
_SCATTERED_CYCLES = 1.5
#: Cycles for an iteration of a nest without vectors, on top of its instructions.
_SCALAR_CYCLES = 1.0
#: Share of its speed that a nest keeps once its registers are spilled.
_SPILLED = 0.35
#: Cycles to begin a team of threads and to wait for its last one, asleep meanwhile.
_TEAM_CYCLES = 30000.0
_COLUMN = {name: i for i, name in enumerate(FEATURES)}


def cycles(table: Floats) -> Floats:
    """Estimated cycles of each row of a feature table, [points]."""

    def column(name: str) -> Floats:
        return np.asarray(table[:, _COLUMN[name]], dtype=np.float64)

    spilled = column("main_register_share") > 1
    compute = column("cycles_compute") / np.where(spilled, _SPILLED, 1.0)
    # More lines in one set than it has ways are loaded again and again.
    conflicts = np.maximum(column("main_aliased") / 8.0, 1.0)
    main, rest = (np.maximum(column(f"{part}_threads"), 1.0) for part in ("main", "rest"))
    moved = np.zeros(len(table))
    for level, rate in _BYTES_PER_CYCLE.items():
        bytes_moved = (
            column(f"main_traffic_{level}") / main + column(f"rest_traffic_{level}") / rest
        )
        moved += bytes_moved / rate * (conflicts if level == "l1" else 1.0)
    control = _BODY_CYCLES * column("bodies") / main + _SCALAR_CYCLES * column("rest_scalar") / rest
    scattered = _SCATTERED_CYCLES * column("scattered") / main
    return compute + moved + control + scattered + _TEAM_CYCLES * column("teams")


def scores(table: Floats) -> Floats:
    """Higher is faster: minus log2 of the estimated cycles, [points]."""
    return -np.log2(np.maximum(cycles(table), 1.0))
