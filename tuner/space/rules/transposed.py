"""The rule for maps that read across the rows they write: blocks of both loops.

It applies to a nest of nothing but loops around one store, where a load is contiguous along another
loop than the store is. A block of both loops stays in the first cache, so that every cache line
that is read is used up before it is thrown out. In squares of as many rows as a vector has lanes,
the block is transposed in registers (tuner.lower.transpose_lanes).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tuner.ir.affine import linear
from tuner.ir.nodes import Expr, For, Program, Store, Var
from tuner.ir.visit import loads, variables
from tuner.schedule.steps import Reorder, Split, Step, Unroll, Vectorize
from tuner.space.knobs import Constraint, Knob, Values
from tuner.space.space import Part, Schedule
from tuner.space.structure import chain
from tuner.target import Target

#: Extents of a block: along the loads, and along the stores.
ACROSS, ALONG = (4, 8, 16, 32, 64), (8, 16, 32, 64)
#: What a block is made of.
ELEMENTS, VECTORS, SQUARES = range(3)


@dataclass(frozen=True)
class TransposedPart(Part):
    """The schedules of one nest."""

    nest: int
    #: all loops but the two of the block
    others: tuple[str, ...]
    #: along the loads, and along the stores
    across: str
    along: str
    lanes: int
    knobs: tuple[Knob, ...]
    constraints: tuple[Constraint, ...]

    @property
    def name(self) -> str:
        return f"transposed {self.nest}: blocks of both loops"

    def steps(self, values: Values) -> Schedule:
        """The steps of one point."""
        across, along = self.across, self.along
        blocks = (f"{across}o", f"{along}o")
        if values[f"n{self.nest}.swap"]:
            blocks = (blocks[1], blocks[0])
        out: list[Step] = [
            Split(across, values[f"n{self.nest}.across"], f"{across}o", f"{across}t"),
            Split(along, values[f"n{self.nest}.along"], f"{along}o", f"{along}t"),
            Reorder((*self.others, *blocks, f"{across}t", f"{along}t")),
        ]
        made_of = values[f"n{self.nest}.vectors"]
        over, within = f"{along}u", f"{along}v"
        if made_of == SQUARES:
            squares, rows = f"{across}u", f"{across}v"
            out += [
                Split(f"{along}t", self.lanes, over, within),
                Split(f"{across}t", self.lanes, squares, rows),
                Reorder((squares, over, rows, within)),
                Vectorize(within),
                Unroll(rows),
            ]
        elif made_of == VECTORS:
            out += [Split(f"{along}t", self.lanes, over, within), Vectorize(within), Unroll(over)]
        return tuple(out)

    def guesses(self, schedule: Schedule) -> Iterator[dict[str, int]]:
        """Points that `schedule` may have come from."""
        factors = {s.outer: s.factor for s in schedule if isinstance(s, Split)}
        found = {
            "across": factors.get(f"{self.across}o", 0),
            "along": factors.get(f"{self.along}o", 0),
            "vectors": (f"{self.along}u" in factors) + (f"{self.across}u" in factors),
        }
        for swap in (0, 1):
            point = {**found, "swap": swap}
            yield {f"n{self.nest}.{name}": value for name, value in point.items()}


def parts(program: Program, nest: int, target: Target) -> list[tuple[Part, frozenset[int]]]:
    """What the rule offers for top-level statement `nest`; [] where it does not apply."""
    top = program.body[nest]
    if not isinstance(top, For):
        return []
    loops, body = chain(top)
    match body:
        case (Store(reduce=None) as store,):
            found = _block(loops, store)
        case _:
            return []
    if found is None:
        return []
    across, along = found
    bits = [program.buffer(store.buffer).dtype.bits, *(x.dtype.bits for x in loads((store,)))]
    lanes = target.lanes(max(bits))
    knobs = (
        Knob(f"n{nest}.across", _extents(ACROSS, across)),
        Knob(f"n{nest}.along", _extents(ALONG, along)),
        Knob(f"n{nest}.swap", (0, 1), structural=True),
        Knob(f"n{nest}.vectors", _made_of(lanes, across, along), structural=True),
    )
    others = tuple(f.var for f in loops if f not in found)
    whole = Constraint(
        f"blocks of whole vectors of {lanes}",
        lambda v: (v[f"n{nest}.vectors"] == ELEMENTS) | (v[f"n{nest}.along"] % lanes == 0),
    )
    squares = Constraint(
        f"blocks of whole squares of {lanes}",
        lambda v: (v[f"n{nest}.vectors"] != SQUARES) | (v[f"n{nest}.across"] % lanes == 0),
    )
    part = TransposedPart(nest, others, across.var, along.var, lanes, knobs, (whole, squares))
    return [(part, frozenset({nest}))]


def _made_of(lanes: int, across: For, along: For) -> tuple[int, ...]:
    if not 1 < lanes <= along.extent:
        return (ELEMENTS,)
    return (ELEMENTS, VECTORS, SQUARES) if lanes <= across.extent else (ELEMENTS, VECTORS)


def _extents(known: tuple[int, ...], loop: For) -> tuple[int, ...]:
    """Those that are not longer than the loop; it itself where all are."""
    return tuple(n for n in known if n <= loop.extent) or (loop.extent,)


def _block(loops: list[For], store: Store) -> tuple[For, For] | None:
    """The loop along which a load is contiguous that is not so along the store's, and the store's;
    None where all are."""
    for along in loops:
        if not _contiguous(store.indices, along.var):
            continue
        for load in loads((store,)):
            for across in loops:
                reads_across = _contiguous(load.indices, across.var)
                strided = any(along.var in variables(index) for index in load.indices[:-1])
                if across is not along and reads_across and strided:
                    return across, along
    return None


def _contiguous(indices: tuple[Expr, ...], loop: str) -> bool:
    """Whether the last subscript, and no other, moves by one element with `loop`."""
    last = linear(indices[-1])
    inside = [atom for atom in last.terms if loop in variables(atom)]
    return (
        inside == [Var(loop)]
        and last.coefficient(loop) == 1
        and not any(loop in variables(index) for index in indices[:-1])
    )
