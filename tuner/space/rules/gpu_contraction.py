"""The rule for contractions on targets with blocks: a tile for each block, a smaller one for each
of its threads, which holds it in registers.

It applies where a product of loads is accumulated from a start value in the same nest, and two
spatial loops (row and column) each miss in one of the operands, so that a thread uses what it has
loaded for several results. Other spatial loops are blocks along z or run inside a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from tuner.ir.nodes import Program
from tuner.schedule.loop_steps import Bind
from tuner.schedule.steps import (
    CacheWrite,
    DecomposeReduction,
    Reorder,
    Split,
    Step,
    Unroll,
)
from tuner.space.knobs import Constraint, Knob, Values
from tuner.space.space import Part, Schedule
from tuner.space.structure import Contraction, contraction
from tuner.target import Target

THREADS = (1, 2, 4, 8, 16, 32, 64)
TILE = (1, 2, 3, 4, 5, 6, 7, 8)
UNROLL = (1, 2, 4, 8)
#: Multiply-adds of one thread that are written out; more only costs the driver time.
MAX_BODY = 64
#: Sketches for one nest.
MAX_PAIRS = 2


@dataclass(frozen=True)
class GpuContractionPart(Part):
    """The schedules of one contraction with one choice of row and column."""

    stage: Contraction
    row: str
    column: str
    knobs: tuple[Knob, ...]
    constraints: tuple[Constraint, ...]

    @property
    def name(self) -> str:
        axes = self.stage.spatial
        return (
            f"contraction {self.stage.nest} in blocks: columns of axis {axes.index(self.column)}, "
            f"rows of axis {axes.index(self.row)}"
        )

    def steps(self, values: Values) -> Schedule:
        """The steps of one point."""
        stage, row, column = self.stage, self.row, self.column
        of_thread = (f"{row}r", f"{column}r")
        out = self._tiles(values)
        out += self._staged(of_thread)
        last = stage.reduction[-1]
        out.append(Split(last, values[self._knob("unroll")], f"{last}o", f"{last}u"))
        loops = (*stage.idle_inside, *stage.reduction[:-1], f"{last}o", f"{last}u")
        out += [Reorder((*loops, *of_thread)), Unroll(f"{last}u")]
        out += [Unroll(loop) for loop in of_thread]
        return (*out, *self._bound())

    def guesses(self, schedule: Schedule) -> Iterator[dict[str, int]]:
        """The point that `schedule` may have come from."""
        factors = {s.outer: s.factor for s in schedule if isinstance(s, Split)}
        rows, columns = (factors.get(f"{axis}t", 0) for axis in (self.row, self.column))
        found = {
            "rows": rows,
            "columns": columns,
            "row_threads": factors.get(f"{self.row}b", 0) // max(rows, 1),
            "column_threads": factors.get(f"{self.column}b", 0) // max(columns, 1),
            "unroll": factors.get(f"{self.stage.reduction[-1]}o", 0),
        }
        yield {self._knob(name): value for name, value in found.items()}

    def _knob(self, name: str) -> str:
        return f"n{self.stage.nest}.{name}"

    def _others(self) -> tuple[str, ...]:
        """The spatial loops that are not tiled, the longest first."""
        rest = [s for s in self.stage.spatial if s not in (self.row, self.column)]
        return tuple(sorted(rest, key=lambda loop: -self.stage.extents[loop]))

    def _tiles(self, values: Values) -> list[Step]:
        """Loops over blocks outermost, then those inside a block, its threads, their elements."""
        out: list[Step] = []
        for axis, size, threads in (
            (self.row, "rows", "row_threads"), (self.column, "columns", "column_threads")
        ):  # fmt: skip
            own = values[self._knob(size)]
            block = own * values[self._knob(threads)]
            out += [Split(axis, block, f"{axis}b", f"{axis}a")]
            out += [Split(f"{axis}a", own, f"{axis}t", f"{axis}r")]
        others, tiled = self._others(), (self.row, self.column)
        blocks = (*others[:1], *(f"{axis}b" for axis in tiled))
        inside = (*self.stage.idle, *others[1:])
        elements = (f"{axis}{level}" for level in "tr" for axis in tiled)
        return [*out, Reorder((*blocks, *inside, *elements))]

    def _staged(self, of_thread: tuple[str, str]) -> list[Step]:
        """The thread's tile in registers, its start values and its stores written out."""
        output, nest = self.stage.output, self.stage.nest
        cache = f"{output.name}c_{nest}"
        stores = tuple(f"{output.name}s{d}_{nest}" for d in range(len(output.shape)))
        start = (f"{self.row}z", f"{self.column}z")
        return [
            CacheWrite(output.name, f"{self.column}t", cache, (), (), stores),
            DecomposeReduction(cache, of_thread[0], start),
            *(Unroll(loop) for loop in (*start, *stores)),
        ]

    def _bound(self) -> Iterator[Step]:
        if others := self._others():
            yield Bind(others[0], "blockIdx.z")
        yield Bind(f"{self.row}b", "blockIdx.y")
        yield Bind(f"{self.column}b", "blockIdx.x")
        yield Bind(f"{self.row}t", "threadIdx.y")
        yield Bind(f"{self.column}t", "threadIdx.x")


def parts(program: Program, nest: int, target: Target) -> list[tuple[Part, frozenset[int]]]:
    """What the rule offers for top-level statement `nest`; [] where it does not apply."""
    stage = contraction(program, nest)
    if stage is None or not stage.starts_inside:
        return []
    return [(_part(stage, target, *pair), frozenset({nest})) for pair in _pairs(stage)]


def _pairs(stage: Contraction) -> list[tuple[str, str]]:
    """(row, column) with reuse in both directions; neighbouring results in a row first."""

    def alone(a: str, b: str) -> bool:
        return any(o.uses(a) and not o.uses(b) for o in stage.operands)

    found = [
        (row, column)
        for row, column in product(stage.spatial, repeat=2)
        if row != column and alone(row, column) and alone(column, row)
    ]
    place = dict(zip(stage.spatial, stage.dims, strict=True))
    return sorted(found, key=lambda pair: -place[pair[1]])[:MAX_PAIRS]


def _part(stage: Contraction, target: Target, row: str, column: str) -> GpuContractionPart:
    n = f"n{stage.nest}."
    knobs = [
        Knob(n + "unroll", tuple(u for u in UNROLL if u <= stage.extents[stage.reduction[-1]]))
    ]
    constraints = [
        Constraint(
            f"a block has at most {target.block_threads} threads",
            lambda v: v[n + "row_threads"] * v[n + "column_threads"] <= target.block_threads,
        ),
        Constraint(
            f"rows * columns * unroll <= {MAX_BODY} operations written out",
            lambda v: v[n + "rows"] * v[n + "columns"] * v[n + "unroll"] <= MAX_BODY,
        ),
    ]
    for axis, size, threads in (
        (row, "rows", "row_threads"), (column, "columns", "column_threads")
    ):  # fmt: skip
        extent = stage.extents[axis]
        knobs.append(Knob(n + threads, tuple(t for t in THREADS if t < 2 * extent)))
        knobs.append(Knob(n + size, tuple(t for t in TILE if t <= extent)))
        constraints.append(_no_idle_threads(n + size, n + threads, extent))
    return GpuContractionPart(stage, row, column, tuple(knobs), tuple(constraints))


def _no_idle_threads(size: str, threads: str, extent: int) -> Constraint:
    return Constraint(
        f"the last thread of a block has something to do in {extent} elements",
        lambda v: (v[threads] - 1) * v[size] < extent,
    )
