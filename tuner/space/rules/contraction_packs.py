"""Steps that copy operands of a contraction into the order in which its tiles read them."""

from __future__ import annotations

from tuner.schedule.loop_steps import Parallel
from tuner.schedule.steps import Pack, Reorder, Split, Step, Unroll, Vectorize
from tuner.space.knobs import Values
from tuner.space.rules.contraction_plan import AS_IS, BLOCKED, PANEL, WHOLE, ContractionPlan
from tuner.space.structure import Operand

Steps = list[Step]


def packs(plan: ContractionPlan, values: Values) -> tuple[Step, ...]:
    """Copies of whole operands, before everything else."""
    return tuple(
        _pack(plan, values, o, form) for o, form in packed_operands(plan, values) if form != PANEL
    )


def packed_operands(plan: ContractionPlan, values: Values) -> list[tuple[Operand, int]]:
    """The operands that are copied, and the form of each copy."""
    forms = [plan.value(values, f"pack{i}") for i in range(len(plan.stage.operands))]
    return [(o, form) for o, form in zip(plan.stage.operands, forms, strict=True) if form != AS_IS]


def panels(plan: ContractionPlan, values: Values) -> Steps:
    """Copies of one block at a time."""
    out: Steps = []
    for operand, form in packed_operands(plan, values):
        if form == PANEL:
            out.append(_pack(plan, values, operand, form))
            out += copied(plan, operand, form)
    return out


def _pack(plan: ContractionPlan, values: Values, operand: Operand, form: int) -> Pack:
    in_vectors = operand.uses(plan.vector)
    width = plan.value(values, "vectors") * plan.lanes if in_vectors else plan.value(values, "rows")
    moved = _moved(plan, operand, form)
    rest = [str(d) for d in range(len(operand.indices)) if d != moved]
    layout = [*rest, str(moved)]
    if form == BLOCKED:
        layout = [f"{moved}//{width}", *rest, f"{moved}%{width}"]
    packed = plan.made(f"{operand.buffer.name}p")
    loops = tuple(f"{packed}_{n}" for n in range(len(layout)))
    place = f"{plan.tiled_loops()[plan.vector]}o" if form == PANEL else ""
    return Pack(operand.buffer.name, packed, place, tuple(layout), loops)


def _moved(plan: ContractionPlan, operand: Operand, form: int) -> int:
    """The dimension that is innermost in the copy."""
    if operand.uses(plan.vector):
        return operand.dims_of(plan.vector)[0]
    return len(operand.indices) - 1 if form == WHOLE else operand.dims_of(plan.row)[0]


def copied(plan: ContractionPlan, operand: Operand, form: int) -> Steps:
    """The copy in vectors where both sides are contiguous, in squares that are transposed in
    registers where the copied dimension is not the contiguous one; a copy that fills in padding
    stays scalar, the compiler sees to the rows that need none."""
    last, moved = len(operand.indices) - 1, _moved(plan, operand, form)
    if form == WHOLE or not operand.uses(plan.vector):
        return []
    innermost = last + 1 if form == BLOCKED else last
    loop = f"{plan.made(f'{operand.buffer.name}p')}_{innermost}"
    if moved == last:
        return vectors(plan, loop)
    along = f"{plan.made(f'{operand.buffer.name}p')}_{innermost - 1}"
    if operand.buffer.shape[last] < plan.lanes or operand.buffer.shape[moved] % plan.lanes:
        return []
    return _squares(plan, along, loop)


def spread_copy(plan: ContractionPlan, operand: Operand, form: int) -> Step:
    """Threads share the outermost loop of the copy that has more than one iteration."""
    at, moved = 0, _moved(plan, operand, form)
    if form == WHOLE:
        sizes = [n for d, n in enumerate(operand.buffer.shape) if d != moved]
        at = next((i for i, size in enumerate(sizes) if size > 1), 0)
    return Parallel(f"{plan.made(f'{operand.buffer.name}p')}_{at}")


def vectors(plan: ContractionPlan, loop: str) -> Steps:
    over, within = f"{loop}u", f"{loop}v"
    return [Split(loop, plan.lanes, over, within), Vectorize(within), Unroll(over)]


def _squares(plan: ContractionPlan, across: str, along: str) -> Steps:
    """Two loops that stand one in the other in squares: loads are contiguous along the outer one,
    stores along the inner one (tuner.lower.transpose_lanes)."""
    squares, rows, over, within = f"{across}u", f"{across}v", f"{along}u", f"{along}v"
    return [
        Split(across, plan.lanes, squares, rows),
        Split(along, plan.lanes, over, within),
        Reorder((squares, over, rows, within)),
        Vectorize(within),
        Unroll(rows),
    ]
