"""The rule for accumulations that are no contraction: depthwise convolutions, pools, sums of rows.

It applies to a nest of loops around a start value and reduction loops with one accumulating store,
where a spatial loop makes both the store and the loads contiguous, or the loads evenly strided. A
group of vectors along it is kept in registers over the whole reduction. Guards of padding are left
to lowering, which cuts the loops where they change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tuner.ir.affine import linear
from tuner.ir.nodes import Expr, For, Program, Store, Var
from tuner.ir.visit import loads, variables
from tuner.schedule.steps import (
    CacheWrite,
    DecomposeReduction,
    Reorder,
    Split,
    Step,
    Unroll,
    Vectorize,
)
from tuner.space.knobs import Constraint, Knob, Values
from tuner.space.space import Part, Schedule
from tuner.space.structure import chain
from tuner.target import Target

#: Vectors in one group.
GROUPS = (1, 2, 3, 4, 6, 8)
#: Largest step, in elements, from one lane of a load to the next.
MAX_STRIDE = 4
#: Longest reduction loop that is written out.
MAX_UNROLL = 8
#: The shortest vector in lanes.
MIN_LANES = 4


@dataclass(frozen=True)
class AccumulationPart(Part):
    """The schedules of one nest with its vector loop chosen."""

    nest: int
    output: str
    #: dimensions of the output
    rank: int
    #: loops around the start value, the vector loop last
    order: tuple[str, ...]
    reduction: tuple[str, ...]
    lanes: int
    knobs: tuple[Knob, ...]
    constraints: tuple[Constraint, ...] = ()

    @property
    def name(self) -> str:
        return f"accumulation {self.nest}: vectors along the output, in registers"

    def steps(self, values: Values) -> Schedule:
        """The steps of one point."""
        vector, cache = self.order[-1], f"{self.output}c_{self.nest}"
        over, tile, start = f"{vector}o", f"{vector}t", f"{vector}z"
        stored = tuple(f"{self.output}s{d}_{self.nest}" for d in range(self.rank))
        out: list[Step] = [
            Reorder(self.order),
            Split(vector, values[f"n{self.nest}.group"] * self.lanes, over, tile),
            CacheWrite(self.output, over, cache, tuple(range(self.rank)), (), stored),
            DecomposeReduction(cache, tile, (start,)),
            Reorder((*self.reduction, tile)),
        ]
        for loop in (start, tile, stored[-1]):
            out += self._vectors(loop)
        if values[f"n{self.nest}.unroll"]:
            out.append(Unroll(self.reduction[-1]))
        return tuple(out)

    def _vectors(self, loop: str) -> list[Step]:
        over, within = f"{loop}u", f"{loop}v"
        return [Split(loop, self.lanes, over, within), Vectorize(within), Unroll(over)]

    def guesses(self, schedule: Schedule) -> Iterator[dict[str, int]]:
        """Points that `schedule` may have come from."""
        over = f"{self.order[-1]}o"
        group = next((s.factor for s in schedule if isinstance(s, Split) and s.outer == over), 0)
        unroll = int(Unroll(self.reduction[-1]) in schedule)
        yield {f"n{self.nest}.group": group // self.lanes, f"n{self.nest}.unroll": unroll}


def parts(program: Program, nest: int, target: Target) -> list[tuple[Part, frozenset[int]]]:
    """What the rule offers for top-level statement `nest`; [] where it does not apply."""
    top = program.body[nest]
    if not isinstance(top, For):
        return []
    outer, body = chain(top)
    match body:
        case (Store(reduce=None) as start, For() as first):
            inner, update = chain(first)
        case _:
            return []
    if len(update) != 1 or not isinstance(update[0], Store) or not update[0].reduce:
        return []
    store = update[0]
    if (start.buffer, start.indices) != (store.buffer, store.indices):
        return []
    found = [f for f in outer if _in_vectors(f.var, start, store)]
    lanes = _lanes(program, store, found[-1], target) if found else 0
    if lanes < MIN_LANES:
        return []
    vector = found[-1]
    groups = tuple(g for g in GROUPS if (g - 1) * lanes < vector.extent)
    unrolls = (0, 1) if inner[-1].extent <= MAX_UNROLL else (0,)
    knobs = (
        Knob(f"n{nest}.group", groups),
        Knob(f"n{nest}.unroll", unrolls, structural=True),
    )
    order = (*(f.var for f in outer if f is not vector), vector.var)
    reduction = tuple(f.var for f in inner)
    part = AccumulationPart(nest, store.buffer, len(store.indices), order, reduction, lanes, knobs)
    return [(part, frozenset({nest}))]


def _lanes(program: Program, store: Store, loop: For, target: Target) -> int:
    bits = [program.buffer(store.buffer).dtype.bits, *(x.dtype.bits for x in loads((store,)))]
    lanes = target.lanes(max(bits))
    while lanes > loop.extent:
        lanes //= 2
    return lanes


def _in_vectors(loop: str, start: Store, store: Store) -> bool:
    """Whether stores step by one element and loads evenly, if at all, when `loop` moves."""
    reads = [x.indices for x in loads((start, store)) if x.buffer != store.buffer]
    alone = all(x.buffer != store.buffer for x in loads((start, store)))
    return (
        alone
        and _step(store.indices, loop) == 1
        and all(_step(indices, loop) in range(MAX_STRIDE + 1) for indices in reads)
    )


def _step(indices: tuple[Expr, ...], loop: str) -> int:
    """Elements from one iteration to the next; -1 where that is not the same everywhere, or where
    it is a row or more."""
    if any(loop in variables(index) for index in indices[:-1]):
        return -1
    last = linear(indices[-1])
    if any(loop in variables(atom) and atom != Var(loop) for atom in last.terms):
        return -1
    return last.coefficient(loop)
