"""The steps of a tiled contraction.

Loops made from loop `l` are called: `lo` over tiles, `lt` within a tile, `lb` over blocks of
tiles, `la` within one and `lao` over its tiles, `lu` and `lv` over vectors and within one, `lz` in
the nest of start values; of a reduction loop, `lb` over blocks and `li` within one.
"""

from __future__ import annotations

from tuner.schedule.loop_steps import Parallel
from tuner.schedule.steps import (
    CacheWrite,
    ComputeAt,
    DecomposeReduction,
    Reorder,
    Split,
    Step,
    Unroll,
    Vectorize,
)
from tuner.space.knobs import Values
from tuner.space.rules.contraction_packs import (
    Steps,
    copied,
    packed_operands,
    panels,
    spread_copy,
    vectors,
)
from tuner.space.rules.contraction_plan import (
    OTHERS_ROW_VECTOR,
    PANEL,
    VECTOR_OTHERS_ROW,
    ContractionPlan,
)


def steps(plan: ContractionPlan, values: Values) -> tuple[Step, ...]:
    """The steps of one point behind `packs`."""
    out: Steps = []
    for operand, form in packed_operands(plan, values):
        if form != PANEL:
            out += copied(plan, operand, form)
            if plan.spread(values):
                out.append(spread_copy(plan, operand, form))
    if plan.fused:
        out += _fused(plan, values)
    elif plan.stage.starts_inside and not plan.value(values, "block"):
        out += _whole(plan, values)
    else:
        out += _blocked(plan, values)
    if plan.spread(values):
        out.append(Parallel(_outer(plan, values)[plan.spread(values) - 1]))
    return tuple(out)


def _whole(plan: ContractionPlan, values: Values) -> Steps:
    """The tile's start values, its whole reduction and its stores, one after the other."""
    stage = plan.stage
    tile = (f"{plan.row}t", f"{plan.vector}t")
    outer = _outer(plan, values)
    out = _tiling(plan, values)
    out.append(Reorder((*stage.idle, *outer, *tile)))
    out += panels(plan, values)
    out += _staged(plan, outer[-1], loads=False)
    start = tuple(f"{loop}z" for loop in tile)
    out.append(DecomposeReduction(plan.made(f"{stage.output.name}c"), tile[0], start))
    out += _reduction(plan, values, tile)
    for rows, vector in (start, tile):
        out += _tile_body(plan, rows, vector)
    return out + _stored(plan, "s")


def _blocked(plan: ContractionPlan, values: Values) -> Steps:
    """Start values of the whole output first; then tiles are loaded, accumulated into over one
    block of the reduction, and stored again."""
    stage = plan.stage
    tile = (f"{plan.row}t", f"{plan.vector}t")
    out: Steps = []
    if stage.starts_inside:
        out += _start_everywhere(plan)
        if plan.spread(values):
            out += _spread_start(plan)
    out += _tiling(plan, values)
    outer = list(_outer(plan, values))
    block = plan.value(values, "block")
    if block:
        first = plan.reduction()[0]
        out.append(Split(first, block, f"{first}b", f"{first}i"))
        outer.insert(-1, f"{first}b")
    split, loops = _reduction_loops(plan, values)
    idle = (*stage.idle, *stage.idle_inside)
    out.append(split)
    out.append(Reorder((*idle, *outer, *loops, *tile)))
    out += panels(plan, values)
    out += _staged(plan, outer[-1], loads=True)
    out.append(Unroll(loops[-1]))
    out += _tile_body(plan, *tile)
    return out + _stored(plan, "r") + _stored(plan, "s")


def _fused(plan: ContractionPlan, values: Values) -> Steps:
    """The last consumer is tiled; what it consumes is computed tile by tile inside of it."""
    stage, axes = plan.stage, plan.tiled_loops()
    own = (plan.row, plan.vector)
    last = plan.fused[-1]
    idle = tuple(loop for loop in last.order if loop not in last.loops)
    outer = _outer(plan, values)
    tile = tuple(f"{axes[axis]}t" for axis in own)
    out = _tiling(plan, values)
    out.append(Reorder((*idle, *outer, *tile)))
    order = plan.order()
    for consumer in reversed(plan.fused[:-1]):
        out.append(ComputeAt(consumer.output, outer[-1], ()))
    out.append(ComputeAt(stage.output.name, outer[-1], order))
    out += panels(plan, values)
    out.append(Reorder((*stage.idle, *plan.others(), *own)))
    start = tuple(f"{loop}z" for loop in own)
    out.append(DecomposeReduction(stage.output.name, plan.row, start))
    out += _reduction(plan, values, own)
    nests = [start, own]
    for consumer in plan.fused[:-1]:
        loops = dict(zip(stage.spatial, consumer.loops, strict=True))
        rows, vector = (loops[axis] for axis in own)
        out.append(Reorder((*(n for n in consumer.order if n not in (rows, vector)), rows, vector)))
        nests.append((rows, vector))
    for rows, vector in (*nests, tile):
        out += _tile_body(plan, rows, vector)
    return out


def _tiling(plan: ContractionPlan, values: Values) -> Steps:
    axes = plan.tiled_loops()
    vector, row = axes[plan.vector], axes[plan.row]
    width, rows = plan.value(values, "vectors") * plan.lanes, plan.value(values, "rows")
    block = plan.value(values, "rowblock")
    out: Steps = [Split(vector, width, f"{vector}o", f"{vector}t")]
    if block:
        # Blocks first: then the tiles divide a block, and one guard holds for both loops.
        out.append(Split(row, rows * block, f"{row}b", f"{row}a"))
        row = f"{row}a"
    return [*out, Split(row, rows, f"{row}o", f"{axes[plan.row]}t")]


def _outer(plan: ContractionPlan, values: Values) -> tuple[str, ...]:
    """The loops outside of the tile, outermost first."""
    axes = plan.tiled_loops()
    others = [axes[axis] for axis in plan.others()]
    vector, row = f"{axes[plan.vector]}o", axes[plan.row]
    blocked = bool(plan.value(values, "rowblock"))
    inner = f"{row}ao" if blocked else f"{row}o"
    match plan.value(values, "order"):
        case order if order == OTHERS_ROW_VECTOR:
            loops = [*others, inner, vector]
        case order if order == VECTOR_OTHERS_ROW:
            loops = [vector, *others, inner]
        case _:
            loops = [*others, vector, inner]
    return (f"{row}b", *loops) if blocked else tuple(loops)


def _staged(plan: ContractionPlan, loop: str, loads: bool) -> Steps:
    output = plan.stage.output
    dims = range(len(output.shape))
    return [
        CacheWrite(
            output.name,
            loop,
            plan.made(f"{output.name}c"),
            plan.order(),
            tuple(plan.made(f"{output.name}r{d}") for d in dims) if loads else (),
            tuple(plan.made(f"{output.name}s{d}") for d in dims),
        )
    ]


def _stored(plan: ContractionPlan, kind: str) -> Steps:
    """The nest that moves a tile between the output and its cache: "r" reads, "s" stores."""
    output = plan.stage.output
    names = tuple(plan.made(f"{output.name}{kind}{d}") for d in plan.order())
    out: Steps = [] if plan.order() == tuple(range(len(names))) else [Reorder(names)]
    return out + _tile_body(plan, names[-2], names[-1])


def _start_everywhere(plan: ContractionPlan) -> Steps:
    """The output's start values in a nest of their own, in vectors along its last dimension."""
    stage = plan.stage
    loops = [*stage.idle, *(s for s in stage.spatial)]
    out: Steps = [
        Reorder(tuple(loops)),
        DecomposeReduction(stage.output.name, loops[0], tuple(f"{s}z" for s in loops)),
    ]
    last = f"{loops[-1]}z"
    if stage.extents[loops[-1]] >= plan.lanes:
        out += [Split(last, plan.lanes, f"{last}o", f"{last}v"), Vectorize(f"{last}v")]
    return out


def _spread_start(plan: ContractionPlan) -> Steps:
    """Threads share the outermost loop of the start values that has more than one iteration."""
    outer = [s for s in plan.stage.spatial[:-1] if plan.stage.extents[s] > 1]
    return [Parallel(f"{outer[0]}z")] if outer else []


def _reduction_loops(plan: ContractionPlan, values: Values) -> tuple[Step, tuple[str, ...]]:
    """The split that makes the unrolled reduction loop, and all reduction loops below the block."""
    loops = list(plan.reduction())
    if plan.value(values, "block"):
        loops[0] = f"{loops[0]}i"
    last = loops[-1]
    split = Split(last, plan.value(values, "unroll"), f"{last}o", f"{last}t")
    return split, (*loops[:-1], f"{last}o", f"{last}t")


def _reduction(plan: ContractionPlan, values: Values, tile: tuple[str, ...]) -> Steps:
    """Reduction loops outside of the tile's."""
    split, loops = _reduction_loops(plan, values)
    return [split, Reorder((*plan.stage.idle_inside, *loops, *tile)), Unroll(loops[-1])]


def _tile_body(plan: ContractionPlan, rows: str, vector: str) -> Steps:
    """The two loops of a tile written out, in vectors."""
    return [*vectors(plan, vector), Unroll(rows)]
