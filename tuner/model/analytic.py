"""A machine model without data: how many cycles a kernel takes, from its features alone.

A nest computes no faster than its arithmetic, its waiting accumulations and its loads allow, with a
ragged last tile element by element; what moves between caches is paid for on top, since one core
hides little of it behind full units. The coefficients are those of the machine
(tuner.model.machine) that the features of the target name, so that rows of several targets may
stand in one table.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tuner.features.table import FEATURES
from tuner.model.machine import GENERIC_CPU, MACHINES, Machine
from tuner.space.knobs import Floats, Ints

_COLUMN = {name: i for i, name in enumerate(FEATURES)}
#: Features of a target in which each machine that has a model differs from all others.
_TELLING = [_COLUMN[f"target_{name}"] for name in ("l1", "l2", "l3", "vectors_per_cycle")]
_MACHINES = {
    tuple(map(float, (t.l1_bytes, t.l2_bytes, t.l3_bytes, t.vectors_per_cycle))): machine
    for machine in MACHINES.values()
    for t in (machine.target,)
}


def scores(table: Floats) -> Floats:
    """Higher is faster: minus log2 of the estimated cycles, [points]."""
    return -np.log2(np.maximum(cycles(table), 1.0))


def cycles(table: Floats) -> Floats:
    """Estimated cycles of each row of a feature table on its target's machine, [points]."""
    out = np.empty(len(table))
    for machine, rows in by_machine(table):
        out[rows] = _cycles(table[rows], machine)
    return out


def by_machine(table: Floats) -> Iterator[tuple[Machine, slice | Ints]]:
    """The machines of a table, and the rows of each."""
    told = table[:, _TELLING]
    if len(table) and (told == told[0]).all():
        yield _MACHINES.get(tuple(told[0].tolist()), GENERIC_CPU), slice(None)
        return
    kinds, of_row = np.unique(told, axis=0, return_inverse=True)
    for number, kind in enumerate(kinds):
        machine = _MACHINES.get(tuple(kind.tolist()), GENERIC_CPU)
        yield machine, np.flatnonzero(of_row.ravel() == number)


def _cycles(table: Floats, machine: Machine) -> Floats:
    def column(name: str) -> Floats:
        return np.asarray(table[:, _COLUMN[name]], dtype=np.float64)

    spilled = column("main_register_share") > 1
    compute = column("cycles_compute") / np.where(spilled, machine.spilled, 1.0)
    # Those of a ragged tile are counted in whole vectors, but run without.
    alone = column("main_tail_share") * column("main_arithmetic_share")
    compute *= 1.0 + machine.ragged * alone * np.maximum(column("main_lanes") - 1.0, 0.0)
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
    lanes = machine.lanes * machine.busy(column("blocks"), column("block_threads"))
    return (compute + control + scattered) / lanes + moved + begun
