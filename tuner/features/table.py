"""Features: names, units, version, and their values for a whole population.

All are totals or ratios of the scheduled program before lowering. The main nest is the one with
most arithmetic; the others (copies, start values, stores) come as sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tuner.features.nest import Kernel, kernel_of
from tuner.features.replay import replay
from tuner.features.work import NestWork, work_of
from tuner.ir.nodes import Program
from tuner.space.knobs import Floats, Ints, Size
from tuner.space.space import Population, Schedule, Space
from tuner.target import Target

#: Changes whenever a name, a unit or a meaning below does; models of another version are not read.
FEATURE_VERSION = "f2"

#: Name and unit of each feature, in the order of the columns.
FEATURES: dict[str, str] = {
    "flops": "operations issued",
    "waste": "operations issued / operations of the program",
    "arithmetic": "instructions",
    "loads": "instructions",
    "stores": "instructions",
    "waiting": "cycles",
    "scattered": "elements",
    "bodies": "runs of straight code",
    "statements": "statements of all bodies",
    "main_arithmetic_share": "of all arithmetic",
    "main_loads_per_arithmetic": "instructions / instruction",
    "main_stores_per_arithmetic": "instructions / instruction",
    "main_waiting_per_arithmetic": "cycles / instruction",
    "main_statements": "statements",
    "main_registers": "vector registers",
    "main_register_share": "of the target's vector registers",
    "main_accumulators": "vector registers",
    "main_inner": "iterations",
    "main_lanes": "elements",
    "main_lane_share": "of a vector",
    "main_aliased": "lines in one set",
    "main_pages": "pages",
    "main_footprint_1": "bytes",
    "main_footprint_2": "bytes",
    "main_footprint_3": "bytes",
    "main_footprint_1_of_l1": "of L1",
    "main_footprint_2_of_l2": "of L2",
    "main_footprint_3_of_l3": "of L3",
    "main_traffic_l1": "bytes",
    "main_traffic_l2": "bytes",
    "main_traffic_l3": "bytes",
    "main_intensity_l1": "operations / byte",
    "main_intensity_l2": "operations / byte",
    "main_intensity_l3": "operations / byte",
    "main_depth": "loops",
    "main_threads": "threads busy on average",
    "rest_threads": "threads busy on average, weighted by instructions",
    "teams": "times that a team of threads is begun",
    "rest_instructions": "instructions",
    "rest_instruction_share": "of all instructions",
    "rest_scattered": "elements",
    "rest_traffic_l1": "bytes",
    "rest_traffic_l2": "bytes",
    "rest_traffic_l3": "bytes",
    "rest_scalar": "iterations without vectors",
    "buffers_made": "bytes",
    "all_bytes": "bytes of all buffers",
    "nests": "nests",
    "cycles_compute": "cycles of the busiest thread, the larger of arithmetic, waiting and loads",
    "vector_bytes": "bytes",
}


def features(program: Program, space: Space, population: Population, target: Target) -> Floats:
    """[points, features] of points of the program's space."""
    base = kernel_of(program)
    out = np.empty((len(population), len(FEATURES)))
    for sketch, rows in _families(space, population):
        steps, values = _symbolic(space, population, sketch, rows)
        out[rows] = table_of(base, replay(base, steps, values), target, len(rows))
    return out


def _families(space: Space, population: Population) -> Iterator[tuple[int, Ints]]:
    """Rows of the population that have the same steps but for their sizes."""
    for index, sketch in enumerate(space.sketches):
        rows = np.flatnonzero(population.sketch == index)
        if not len(rows):
            continue
        values = space.columns(index, population.take(rows))
        families = [k.family(values[k.name]) for k in sketch.knobs]
        _, group = np.unique(
            np.stack([np.zeros(len(rows)), *families]), axis=1, return_inverse=True
        )
        for number in range(group.max() + 1):
            yield index, rows[group == number]


def _symbolic(
    space: Space, population: Population, index: int, rows: Ints
) -> tuple[Schedule, dict[str, Ints]]:
    """The steps that `rows` share, with sizes as knobs, and the knobs' values."""
    sketch = space.sketches[index]
    values = dict(space.columns(index, population.take(rows)))
    shared: dict[str, int] = {}
    for knob in sketch.knobs:
        first = int(values[knob.name][0])
        shared[knob.name] = first if knob.structural or first == 0 else Size((knob.name,))
    return sketch.steps(shared), values


def table_of(base: Kernel, kernel: Kernel, target: Target, n: int) -> Floats:
    """[points, features] of a kernel, of which `base` is the program as written."""
    works = [work_of(kernel, nest, target) for nest in kernel.nests]
    costs = [nest.cheap + nest.costly for nest in kernel.nests]

    useful = sum(
        float(work_of(base, nest, target).iterations[0]) * (nest.cheap + nest.costly)
        for nest in base.nests
    )
    issued = _stacked(works, lambda w: w.iterations, n) * np.array(costs)[:, None]
    totals = {name: _stacked(works, pick, n) for name, pick in _TOTALS.items()}
    main = np.argmax(totals["arithmetic"], axis=0)
    row = np.arange(n)
    of_main = {name: _stacked(works, pick, n)[main, row] for name, pick in _MAIN.items()}
    of_main |= {name: column[main, row] for name, column in totals.items()}
    table = {
        "flops": issued.sum(axis=0),
        "waste": issued.sum(axis=0) / max(useful, 1.0),
        **{name: totals[name].sum(axis=0) for name in _SUMMED},
        **_of_main(of_main, issued[main, row], totals["arithmetic"].sum(axis=0), target),
        **_of_rest(totals, of_main),
        **_of_buffers(kernel, base, n),
    }
    depth = np.array([len(nest.loops) for nest in kernel.nests], dtype=np.float64)
    table["main_depth"] = depth[main]
    table["nests"] = np.full(n, float(len(works)))
    table["vector_bytes"] = np.full(n, target.vector_bits / 8)
    out = np.empty((n, len(FEATURES)))
    for column, name in enumerate(FEATURES):
        out[:, column] = table[name]
    return out


def _stacked(works: list[NestWork], pick: Callable[[NestWork], Floats], n: int) -> Floats:
    """[nests, points]"""
    out = np.empty((len(works), n))
    for row, work in enumerate(works):
        out[row] = pick(work)
    return out


_SUMMED = ("arithmetic", "loads", "stores", "waiting", "scattered", "bodies", "statements")
_TOTALS: dict[str, Callable[[NestWork], Floats]] = {
    "arithmetic": lambda w: w.arithmetic,
    "loads": lambda w: w.loads,
    "stores": lambda w: w.stores,
    "waiting": lambda w: w.waiting,
    "scattered": lambda w: w.scattered,
    "bodies": lambda w: w.bodies,
    "statements": lambda w: w.statements,
    "instructions": lambda w: w.arithmetic + w.loads + w.stores,
    "cycles": lambda w: w.cycles / w.threads[0],
    "each": lambda w: (w.arithmetic + w.loads + w.stores) / w.threads[0],
    "teams": lambda w: w.threads[1],
    "scalar": lambda w: np.where(w.lanes > 1, 0.0, w.iterations),
    "traffic_l1": lambda w: w.traffic[0],
    "traffic_l2": lambda w: w.traffic[1],
    "traffic_l3": lambda w: w.traffic[2],
}
_MAIN: dict[str, Callable[[NestWork], Floats]] = {
    "registers": lambda w: w.registers,
    "accumulators": lambda w: w.accumulators,
    "inner": lambda w: w.inner,
    "lanes": lambda w: w.lanes,
    "aliased": lambda w: w.aliased,
    "pages": lambda w: w.pages,
    "threads": lambda w: w.threads[0],
    "footprint_1": lambda w: w.footprints[0],
    "footprint_2": lambda w: w.footprints[1],
    "footprint_3": lambda w: w.footprints[2],
}


def _of_main(
    main: dict[str, Floats], issued: Floats, arithmetic: Floats, target: Target
) -> dict[str, Floats]:
    per = np.maximum(main["arithmetic"], 1.0)
    sizes = {"l1": target.l1_bytes, "l2": target.l2_bytes, "l3": target.l3_bytes}
    out = {f"main_{name}": main[name] for name in (*_MAIN, "statements")}
    out["main_arithmetic_share"] = main["arithmetic"] / np.maximum(arithmetic, 1.0)
    for name in ("loads", "stores", "waiting"):
        out[f"main_{name}_per_arithmetic"] = main[name] / per
    out["main_register_share"] = main["registers"] / target.vector_registers
    out["main_lane_share"] = main["lanes"] * 32.0 / target.vector_bits
    for depth, (level, size) in enumerate(sizes.items(), start=1):
        out[f"main_footprint_{depth}_of_{level}"] = main[f"footprint_{depth}"] / size
        moved = main[f"traffic_{level}"]
        out[f"main_traffic_{level}"] = moved
        out[f"main_intensity_{level}"] = issued / np.maximum(moved, 1.0)
    return out


def _of_rest(totals: dict[str, Floats], main: dict[str, Floats]) -> dict[str, Floats]:
    """All nests but the main one."""
    rest = {name: column.sum(axis=0) - main[name] for name, column in totals.items()}
    out = {f"rest_{name}": rest[name] for name in ("instructions", "scattered", "scalar")}
    for level in ("l1", "l2", "l3"):
        out[f"rest_traffic_{level}"] = rest[f"traffic_{level}"]
    everything = np.maximum(totals["instructions"].sum(axis=0), 1.0)
    out["rest_instruction_share"] = rest["instructions"] / everything
    out["rest_threads"] = np.maximum(rest["instructions"], 1.0) / np.maximum(rest["each"], 1.0)
    out["teams"] = totals["teams"].sum(axis=0)
    out["cycles_compute"] = totals["cycles"].sum(axis=0)
    return out


def _of_buffers(kernel: Kernel, base: Kernel, n: int) -> dict[str, Floats]:
    sizes = {name: np.broadcast_to(s.bytes(), n) for name, s in kernel.shapes.items()}
    made = [size for name, size in sizes.items() if name not in base.shapes]
    everything = np.sum(list(sizes.values()), axis=0)
    return {"buffers_made": np.sum(made, axis=0) * np.ones(n), "all_bytes": everything}
