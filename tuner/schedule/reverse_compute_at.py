"""reverse_compute_at: a consumer runs where its input is made, one tile at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tuner.errors import ScheduleError
from tuner.ir.affine import Linear, Ranges, linear_bounds, simplify_linear
from tuner.ir.nodes import Buffer, For, If, LoopKind, Program, Scope, Stmt, Var
from tuner.ir.visit import Body, rewrite_body, stores, with_body
from tuner.schedule.access import Access, accesses, accesses_of, of_buffer, written
from tuner.schedule.cover import fills, overwritten, reaches_all
from tuner.schedule.dependence import Order, nested
from tuner.schedule.legality import conflicts, equal_loops, self_conflicts
from tuner.schedule.memory_steps import ReverseComputeAt
from tuner.schedule.motion import meet
from tuner.schedule.nest import Place, extents, find, find_buffer, put, redeclare
from tuner.schedule.region import Region, relaxed, touched
from tuner.schedule.restrict import restricted
from tuner.schedule.staging import redirected, shrunk
from tuner.schedule.witness import common_loops, shown


def reverse_compute_at(program: Program, step: ReverseComputeAt) -> Program:
    """Moves the nest that computes `buffer` to the end of `loop`, over the tile that is made there.

        for i0 in range(2):                   for i0 in range(2):
            for i1 in range(4):                   for i1 in range(4):
                h[i0 * 4 + i1] = x[i0 * 4 + i1]       h[i1] = x[i0 * 4 + i1]
        for j in range(8):                  ->    for j in range(4):
            y[j] = h[j] + 1.0                         y[i0 * 4 + j] = h[j] + 1.0

    The loops of the moved nest keep their names; those over the tile get its extents. An
    intermediate buffer that only the body of `loop` and the moved nest use shrinks to the tile
    where the body gives the tile new values first; it is then local where it fits.

    Legal where one statement after the nest of `loop`, in a block around it, computes the buffer,
    and uses what the body of `loop` makes by one loop for each dimension. Each iteration of the
    loops from that block to `loop` must write a tile of its own, whole, and all of them whatever
    the moved nest uses: it would come short of values otherwise. Every store of the moved nest
    stands in all loops that are cut to the tile, and what it touches besides is neither written
    in between, nor touched again in another tile.
    """
    place, buffer = find(program, step.loop), find_buffer(program, step.buffer)
    if place.loop.kind == LoopKind.VECTORIZED:
        raise ScheduleError(f"loop {step.loop!r} is vectorized: move before vectorizing")
    move = _move(program, place, step)
    ranges = extents(program.body)
    boxes: dict[str, tuple[Linear, int]] = {}
    regions = {name: _tile(program, move, name, ranges) for name in move.made}
    for name, region in regions.items():
        _match(boxes, move, name, region, ranges)
        _check_reached(move, name, region, ranges)
    _check_order(move, buffer, _cut(boxes, ranges), ranges)
    moved = restricted(move.consumer, boxes, ranges)
    new = (*place.loop.body, *moved)
    ranges = {**ranges, **extents(moved)}
    body = rewrite_body(program.body, lambda stmt: () if stmt is move.consumer else stmt)
    program = replace(program, body=body)
    place = find(program, step.loop)
    program = put(program, place, (with_body(place.loop, new),))
    for name, region in regions.items():
        program = _shrink(program, step.loop, name, region, ranges)
    return program


@dataclass(frozen=True, slots=True)
class _Move:
    """What moves over what."""

    place: Place
    #: loops from the block that holds both nests to the target, outermost first
    over: tuple[For, ...]
    producer: Stmt
    between: Body
    consumer: Stmt
    #: buffers that the target's body makes and the consumer reads
    made: tuple[str, ...]


def _move(program: Program, place: Place, step: ReverseComputeAt) -> _Move:
    path: tuple[For | If, ...] = (*place.around, place.loop)
    blocks = (program.body, *(stmt.body for stmt in place.around))
    for depth, (block, towards) in enumerate(zip(blocks, path, strict=True)):
        start = next(i for i, stmt in enumerate(block) if stmt is towards)
        for at, stmt in enumerate(block[start + 1 :], start + 1):
            if not any(s.buffer == step.buffer for s in stores((stmt,))):
                continue
            over = tuple(s for s in path[depth:] if isinstance(s, For))
            if len(over) < len(path[depth:]):
                raise ScheduleError(
                    f"a guard stands around {step.loop!r}: what it keeps out would not be computed"
                )
            used = {a.buffer for a in accesses_of(stmt) if not a.writes}
            made = tuple(sorted(used & written(accesses(place.loop.body))))
            if not made:
                raise ScheduleError(
                    f"the nest that computes {step.buffer!r} reads nothing that the body of "
                    f"{step.loop!r} makes"
                )
            return _Move(place, over, towards, block[start + 1 : at], stmt, made)
    raise ScheduleError(
        f"no statement after the nest of {step.loop!r}, in a block around it, computes "
        f"{step.buffer!r}"
    )


def _tile(program: Program, move: _Move, name: str, ranges: Ranges) -> Region:
    """The box of `name` that one iteration writes. Raises ScheduleError unless it is then final,
    and no other iteration's."""
    loop = move.place.loop
    inside = [a for a in of_buffer(accesses(loop.body), name) if a.writes]
    everywhere = [a for a in of_buffer(accesses_of(move.producer), name) if a.writes]
    if len(everywhere) > len(inside):
        raise ScheduleError(f"{name!r} is also written beside {loop.var!r}, in the same nest")
    _check_final(move, name, everywhere, ranges)
    region = touched(inside, extents(loop.body), ranges)
    buffer = program.buffer(name)
    if not any(fills(a, region, buffer, ranges) for a in inside):
        raise ScheduleError(
            f"the body of {loop.var!r} may not write the whole tile {region.extents} of {name!r}: "
            f"the consumer would come short of the rest"
        )
    return region


def _check_final(move: _Move, name: str, writes: Sequence[Access], ranges: Ranges) -> None:
    """Raises ScheduleError where an element of `name` that the consumer uses may be written in
    another iteration than that of its tile, or after the producer."""
    for write in of_buffer(accesses(move.between), name):
        for use in of_buffer(accesses_of(move.consumer), name):
            pair = meet(write, use, 0, ranges) if write.writes else ""
            if pair:
                raise ScheduleError(
                    f"{write.text()} is written after {move.place.loop.var!r}, before it is used"
                    f"{pair}"
                )
    over = [outer.var for outer in move.over]
    earlier = (nested(over, "<"),)
    for i, a in enumerate(writes):
        for b in writes[i:]:
            equal = equal_loops(a, b, move.over, ranges)
            if equal is None or equal == set(over):
                continue
            pair = shown([(a, b, earlier), (b, a, earlier)], ranges)
            if pair:
                apart = ", ".join(n for n in over if n not in equal)
                raise ScheduleError(
                    f"{b.text()} may be written in several iterations of {apart}: after one of "
                    f"them the consumer would come short of the others{pair}"
                )


def _match(
    boxes: dict[str, tuple[Linear, int]], move: _Move, name: str, region: Region, ranges: Ranges
) -> None:
    """Adds the part of each consumer's loop that goes with the tile of `name`."""
    own = extents((move.consumer,))
    for access in of_buffer(accesses_of(move.consumer), name):
        for d, index in enumerate(access.indices):
            box = region.base[d], region.extents[d]
            if isinstance(index, Var) and index.name in own:
                if boxes.setdefault(index.name, box) == box:
                    continue
            elif box[1] == 1 and simplify_linear(access.forms[d], ranges) == box[0]:
                continue
            raise ScheduleError(
                f"{access.text()}: subscript {d} must be one loop of the nest that computes the "
                f"buffer, used for the same tile everywhere; move the nest before splitting it"
            )


def _check_reached(move: _Move, name: str, region: Region, ranges: Ranges) -> None:
    """Raises ScheduleError unless the tiles together hold all that the consumer uses."""
    loops, own = {loop.var for loop in move.over}, extents((move.consumer,))
    forms: list[Linear] = []
    wanted: list[tuple[int, int]] = []
    ranges = dict(ranges)
    for access in of_buffer(accesses_of(move.consumer), name):
        for d, index in enumerate(access.indices):
            if isinstance(index, Var) and index.name in own:
                offset = f"{d}"
                ranges[offset] = region.extents[d]
                forms.append(region.base[d].plus(Linear({Var(offset): 1})))
                wanted.append(linear_bounds(access.forms[d], ranges))
        names = loops | {f"{d}" for d in range(len(region.extents))}
        if not reaches_all(forms, names, wanted, ranges):
            raise ScheduleError(
                f"the tiles that {', '.join(loop.var for loop in move.over)} make of {name!r} do "
                f"not hold all that {access.text()} uses: the consumer would come short"
            )
        forms, wanted = [], []


def _cut(boxes: dict[str, tuple[Linear, int]], ranges: Ranges) -> set[str]:
    """The loops of the consumer that an iteration does not run whole."""
    return {v for v, (base, size) in boxes.items() if base != Linear({}) or size < ranges[v]}


def _check_order(move: _Move, buffer: Buffer, cut: set[str], ranges: Ranges) -> None:
    """Raises ScheduleError unless the consumer may run tile by tile, and before what follows."""
    found = accesses_of(move.consumer)
    for a in found:
        missing = cut - {loop.var for loop in a.loops}
        if a.writes and missing:
            raise ScheduleError(
                f"{a.text()} stands outside of {', '.join(sorted(missing))}: it would run once for "
                f"each tile"
            )
    for a, b in self_conflicts(found):
        common = common_loops(a, b)
        equal = equal_loops(a, b, common, ranges)
        if equal is None or cut <= equal:
            continue
        apart: Order = tuple(((loop.var, "<"),) for loop in common if loop.var in cut)
        if cut - {loop.var for loop in common}:
            apart = ((),)
        pair = shown([(a, b, (apart,)), (b, a, (apart,))], ranges)
        if pair:
            raise ScheduleError(
                f"{a.text()} and {b.text()} may meet in different tiles, which are computed in "
                f"another order{pair}"
            )
    besides = [a for a in found if a.writes or a.buffer not in move.made]
    others = (*accesses_of(move.producer), *accesses(move.between))
    for a, b in conflicts(besides, others):
        pair = meet(b, a, 0, ranges)
        if pair:
            raise ScheduleError(
                f"{a.text()} cannot move ahead of {b.text()}, which may touch the same element"
                f"{pair}"
            )


def _shrink(program: Program, loop: str, name: str, region: Region, ranges: Ranges) -> Program:
    """`program` with `name` held as one tile, where nothing outside of `loop` uses it and no value
    passes from one iteration to another."""
    buffer, place = program.buffer(name), find(program, loop)
    found = of_buffer(accesses(place.loop.body), name)
    if buffer.scope is Scope.PARAM or len(found) < len(of_buffer(accesses(program.body), name)):
        return program
    whole = touched(found, extents(place.loop.body), ranges)
    if whole != region or not overwritten(found, region, buffer, ranges):
        return program
    staged = shrunk(buffer, region, ())
    shapes = {b.name: b.shape for b in program.buffers()}
    body = relaxed(place.loop.body, buffer, shapes, ranges, place.guards())
    body = redirected(body, staged, ranges)
    return redeclare(put(program, place, (with_body(place.loop, body),)), staged.new)
