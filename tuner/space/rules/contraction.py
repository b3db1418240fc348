"""The rule for contractions: register tiles of rows by vectors, operands packed, sums blocked.

It applies to a nest that accumulates a product of at least two loads, where one spatial loop (the
vector axis) is missing in one operand and another (the row axis) in the other: each loaded vector
is used for every row, each loaded row element for every vector. Element-wise nests that consume
the result in place can be computed with it, tile by tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from tuner.ir.nodes import Program, Var
from tuner.schedule.steps import Pack, Split
from tuner.space.knobs import Bools, Columns, Constraint, Ints, Knob, Values
from tuner.space.rules import contraction_packs, contraction_steps
from tuner.space.rules.contraction_plan import (
    AS_IS,
    BLOCKED,
    OTHERS_ROW_VECTOR,
    PANEL,
    WHOLE,
    ContractionPlan,
)
from tuner.space.space import Part, Schedule
from tuner.space.structure import Consumer, Contraction, Operand, consumers, contraction
from tuner.target import Target

ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 28)
VECTORS = (1, 2, 3, 4, 6)
ROW_BLOCKS = (2, 4, 8, 16)
#: Blocks of the reduction: its divisors between these, or powers of two where it has none.
MIN_BLOCK, MAX_BLOCK, MOST_BLOCKS = 16, 512, 6
#: Multiply-adds that are written out: of one body, and with the copies for tails. More only costs
#: the compiler time.
MAX_BODY, MAX_WRITTEN = 96, 144
#: Sketches for one nest: pairs of axes beyond these are the least promising.
MAX_PAIRS = 4


@dataclass(frozen=True)
class ContractionPart(Part):
    """The schedules of one plan."""

    plan: ContractionPlan
    knobs: tuple[Knob, ...]
    constraints: tuple[Constraint, ...]

    @property
    def name(self) -> str:
        plan, axes = self.plan, self.plan.stage.spatial
        text = (
            f"contraction {plan.stage.nest}: vectors of axis {axes.index(plan.vector)}, "
            f"rows of axis {axes.index(plan.row)}"
        )
        return f"{text}, {len(plan.fused)} consumers inside" if plan.fused else text

    def packs(self, values: Values) -> Schedule:
        """Copies of whole operands."""
        return contraction_packs.packs(self.plan, values)

    def steps(self, values: Values) -> Schedule:
        """The steps of one point behind all packs."""
        return contraction_steps.steps(self.plan, values)

    def guesses(self, schedule: Schedule) -> Iterator[dict[str, int]]:
        """Points that `schedule` may have come from."""
        plan, axes = self.plan, self.plan.tiled_loops()
        factors = {s.outer: s.factor for s in schedule if isinstance(s, Split)}
        packs = {s.buffer: s for s in schedule if isinstance(s, Pack)}
        vector, row = axes[plan.vector], axes[plan.row]
        block, last = plan.reduction()[0], plan.reduction()[-1]
        rows = next(
            (s.factor for s in schedule if isinstance(s, Split) and s.inner == f"{row}t"), 0
        )
        found = {
            "vectors": factors.get(f"{vector}o", 0) // plan.lanes,
            "rows": rows,
            "block": factors.get(f"{block}b", 0),
            "rowblock": factors.get(f"{row}b", 0) // max(rows, 1),
        }
        for i, operand in enumerate(plan.stage.operands):
            found[f"pack{i}"] = _form_of(packs.get(operand.buffer.name))
        found["unroll"] = factors.get(f"{last}o") or factors.get(f"{last}io", 0)
        # 0 last: its steps are the beginning of the others'.
        spreads = (1, 2, 0) if plan.threads > 1 else (None,)
        for order, spread in product(range(3), spreads):
            point = found | {"order": order} | ({} if spread is None else {"spread": spread})
            yield {f"n{plan.stage.nest}.{name}": value for name, value in point.items()}


def _form_of(pack: Pack | None) -> int:
    if pack is None:
        return AS_IS
    if pack.loop:
        return PANEL
    return BLOCKED if any("%" in axis for axis in pack.layout) else WHOLE


def parts(program: Program, nest: int, target: Target) -> list[tuple[Part, frozenset[int]]]:
    """What the rule offers for top-level statement `nest`, each with the nests that it schedules;
    [] where it does not apply."""
    stage = contraction(program, nest)
    if stage is None:
        return []
    inside = consumers(program, stage) if stage.starts_inside else ()
    chains: list[tuple[Consumer, ...]] = [inside, ()] if inside else [()]
    offered: list[tuple[Part, frozenset[int]]] = []
    for (vector, row), fused in product(_pairs(stage, target), chains):
        part = _part(stage, target, (vector, row), fused)
        offered.append((part, frozenset({nest, *(c.nest for c in fused)})))
    return offered


def _pairs(stage: Contraction, target: Target) -> list[tuple[str, str]]:
    """(vector axis, row axis) with reuse in both directions, the most promising first."""
    lanes = target.lanes(stage.dtype.bits)
    found = []
    for vector, row in product(stage.spatial, repeat=2):
        users = [o for o in stage.operands if o.uses(vector)]
        reused = any(o.uses(row) and not o.uses(vector) for o in stage.operands)
        if vector == row or len(users) != 1 or users[0].uses(row) or not reused:
            continue
        if all(_forms(o, stage, (vector, row), lanes) for o in stage.operands):
            found.append((vector, row))

    def promise(pair: tuple[str, str]) -> tuple[float, int, int]:
        width, rows = (stage.extents[axis] for axis in pair)
        issued = -(-width // lanes) * lanes
        stores_in_rows = stage.dims[stage.spatial.index(pair[0])] == len(stage.output.shape) - 1
        return (issued / width, min(rows, 6) * -1, 0 if stores_in_rows else 1)

    return sorted(found, key=promise)[:MAX_PAIRS]


def _forms(
    operand: Operand, stage: Contraction, pair: tuple[str, str], lanes: int
) -> tuple[int, ...]:
    """How the operand can be read so that vectors along the vector axis are contiguous. What other
    loads read as well is not packed: one layout would have to suit them all."""
    as_is, packed = _all_forms(operand, stage, pair, lanes)
    return (*((AS_IS,) if as_is and not operand.padded else ()), *(packed if operand.alone else ()))


def _all_forms(
    operand: Operand, stage: Contraction, pair: tuple[str, str], lanes: int
) -> tuple[bool, tuple[int, ...]]:
    """Whether it can be read as it is if it has no padding, and its packed forms."""
    vector, row = pair
    last = len(operand.indices) - 1
    if not operand.uses(vector):
        blocked = (BLOCKED,) if operand.alone_in(row) is not None else ()
        return True, (WHOLE,) if operand.padded else blocked
    dim = operand.alone_in(vector)
    if dim is not None:
        return dim == last, (BLOCKED,) if operand.padded else (BLOCKED, PANEL)
    dims = operand.dims_of(vector)
    strided = len(dims) != 1 or operand.indices[dims[0]].terms[Var(vector)] != 1
    if strided or stage.extents[vector] % lanes:
        return False, ()
    return dims[0] == last, () if dims[0] == last and not operand.padded else (WHOLE,)


def _part(
    stage: Contraction, target: Target, pair: tuple[str, str], fused: tuple[Consumer, ...]
) -> ContractionPart:
    lanes = target.lanes(stage.dtype.bits)
    plan = ContractionPlan(stage, *pair, lanes, fused, target.threads)
    return ContractionPart(plan, _knobs(plan), _constraints(plan, target.vector_registers))


def _knobs(plan: ContractionPlan) -> tuple[Knob, ...]:
    stage, lanes = plan.stage, plan.lanes
    width, height = stage.extents[plan.vector], stage.extents[plan.row]
    vectors = [n for n in VECTORS if (n - 1) * lanes < width]
    if plan.vector_operand().alone_in(plan.vector) is None:
        vectors = [n for n in vectors if width % (n * lanes) == 0]
    depth = stage.extents[plan.reduction()[0]]
    blocks = () if plan.fused else _blocks(depth)
    orders = (0, 1, 2) if plan.others() else (0, 1)
    tiles = -(-height // max(ROWS))
    knobs = [
        Knob("vectors", tuple(vectors)),
        Knob("rows", tuple(r for r in ROWS if r <= height)),
        Knob("unroll", _unrolls(stage.extents[plan.reduction()[-1]])),
        Knob("block", (0, *blocks)),
        Knob("order", orders, structural=True),
        Knob("rowblock", (0, *(b for b in ROW_BLOCKS if b < tiles))),
    ]
    if plan.threads > 1:
        knobs.append(Knob("spread", (0, 1, 2), structural=True))
    for i, o in enumerate(stage.operands):
        forms = _forms(o, stage, (plan.vector, plan.row), lanes)
        if plan.threads > 1:
            # Threads that share the loop over blocks would need a panel each.
            forms = tuple(form for form in forms if form != PANEL)
        knobs.append(Knob(f"pack{i}", forms, structural=True))
    return tuple(Knob(f"n{stage.nest}.{k.name}", k.values, k.structural) for k in knobs)


def _unrolls(extent: int) -> tuple[int, ...]:
    """Factors of the innermost reduction loop: small divisors; where it has none, 2 and 4."""
    divisors = tuple(u for u in range(1, 10) if extent % u == 0)
    return divisors if len(divisors) > 1 else (1, 2, 4)


def _blocks(depth: int) -> tuple[int, ...]:
    sizes = range(MIN_BLOCK, min(MAX_BLOCK, depth - 1) + 1, 4)
    divisors = [b for b in sizes if depth % b == 0]
    if not divisors:
        return tuple(b for b in (32, 64, 128, 256, 512) if b < depth)
    return tuple(divisors[:: max(1, -(-len(divisors) // MOST_BLOCKS))])


def _written(plan: ContractionPlan, v: Columns) -> Ints:
    """Multiply-adds of the body and of its copies for tails. A packed operand has no tail: it is
    rounded up to whole tiles."""
    n = f"n{plan.stage.nest}."
    rows, width = v[n + "rows"], v[n + "vectors"] * plan.lanes
    forms = {axis: np.zeros_like(rows, dtype=bool) for axis in (plan.vector, plan.row)}
    for i, operand in enumerate(plan.stage.operands):
        for axis, rounded in forms.items():
            if operand.uses(axis):
                rounded |= v[f"{n}pack{i}"] == BLOCKED
    group = rows * np.maximum(v[n + "rowblock"], 1)
    block = np.maximum(v[n + "block"], 1)
    extents = plan.stage.extents
    depth, last = extents[plan.reduction()[0]], extents[plan.reduction()[-1]]
    copies = (
        (1 + ((extents[plan.row] % group != 0) & ~forms[plan.row]))
        * (1 + ((extents[plan.vector] % width != 0) & ~forms[plan.vector]))
        * (1 + (depth % block != 0))
        * (1 + (last % v[n + "unroll"] != 0))
    )
    return np.asarray(rows * v[n + "vectors"] * v[n + "unroll"] * copies, dtype=np.int64)


def _whole_tiles(plan: ContractionPlan) -> Constraint:
    n, extents = f"n{plan.stage.nest}.", plan.stage.extents

    def holds(v: Columns) -> Bools:
        group = v[n + "rows"] * np.maximum(v[n + "rowblock"], 1)
        tails = (extents[plan.row] % group != 0) | (
            extents[plan.vector] % (v[n + "vectors"] * plan.lanes) != 0
        )
        loaded = (v[n + "block"] != 0) | (not plan.stage.starts_inside)
        return np.asarray((v[n + "spread"] == 0) | ~loaded | ~tails)

    return Constraint("threads load and store whole tiles only", holds)


def _constraints(plan: ContractionPlan, registers: int) -> tuple[Constraint, ...]:
    n = f"n{plan.stage.nest}."
    packs = [f"{n}pack{i}" for i in range(len(plan.stage.operands))]
    single = len(plan.reduction()) == 1
    return (
        *([_whole_tiles(plan)] if plan.threads > 1 else []),
        Constraint(
            f"rows * vectors + vectors + 1 <= {registers} vector registers",
            lambda v: (v[n + "rows"] + 1) * v[n + "vectors"] + 1 <= registers,
        ),
        Constraint(
            f"rows * vectors * unroll <= {MAX_BODY} unrolled operations",
            lambda v: v[n + "rows"] * v[n + "vectors"] * v[n + "unroll"] <= MAX_BODY,
        ),
        Constraint(
            f"at most {MAX_WRITTEN} operations are written out, tails included",
            lambda v: _written(plan, v) <= MAX_WRITTEN,
        ),
        Constraint(
            "a panel is packed outside of the loop over rows",
            lambda v: np.logical_and.reduce(
                [(v[p] != PANEL) | (v[n + "order"] != OTHERS_ROW_VECTOR) for p in packs]
            ),
        ),
        Constraint(
            "blocks of rows are for orders with the rows inside",
            lambda v: (v[n + "rowblock"] == 0) | (v[n + "order"] != OTHERS_ROW_VECTOR),
        ),
        Constraint(
            "unroll divides the block of the reduction",
            lambda v: (
                (v[n + "block"] == 0) | (v[n + "block"] % v[n + "unroll"] == 0) | (not single)
            ),
        ),
    )
