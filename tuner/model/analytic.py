"""A machine model without data: how many cycles a kernel takes, from its features alone.

A nest computes no faster than its arithmetic, its waiting accumulations and its loads allow; what
moves between caches is paid for on top, since one core hides little of it behind full units. The
coefficients are those of a machine (tuner.model.machine).
"""

from __future__ import annotations

import numpy as np

from tuner.features.table import FEATURES
from tuner.model.machine import GENERIC_CPU, Machine
from tuner.space.knobs import Floats

_COLUMN = {name: i for i, name in enumerate(FEATURES)}


def cycles(table: Floats, machine: Machine = GENERIC_CPU) -> Floats:
    """Estimated cycles of each row of a feature table on a machine, [points]."""

    def column(name: str) -> Floats:
        return np.asarray(table[:, _COLUMN[name]], dtype=np.float64)

    spilled = column("main_register_share") > 1
    compute = column("cycles_compute") / np.where(spilled, machine.spilled, 1.0)
    # More lines in one set than it has ways are loaded again and again.
    conflicts = np.maximum(column("main_aliased") / 8.0, 1.0)
    main, rest = (np.maximum(column(f"{part}_threads"), 1.0) for part in ("main", "rest"))
    moved = np.zeros(len(table))
    rates = {"l1": machine.into_l1, "l2": machine.into_l2, "l3": machine.into_l3}
    for level, rate in rates.items():
        bytes_moved = (
            column(f"main_traffic_{level}") / main + column(f"rest_traffic_{level}") / rest
        )
        moved += bytes_moved / rate * (conflicts if level == "l1" else 1.0)
    control = machine.body_cycles * column("bodies") / main
    control += machine.scalar_cycles * column("rest_scalar") / rest
    scattered = machine.scattered_cycles * column("scattered") / main
    begun = machine.team_cycles * column("teams")
    return (compute + control + scattered) / machine.lanes + moved + begun


def scores(table: Floats, machine: Machine = GENERIC_CPU) -> Floats:
    """Higher is faster: minus log2 of the estimated cycles, [points]."""
    return -np.log2(np.maximum(cycles(table, machine), 1.0))
