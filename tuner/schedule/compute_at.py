"""compute_at: a buffer is computed where it is used, one tile at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from tuner.errors import ScheduleError
from tuner.ir.affine import Ranges, simplify_linear
from tuner.ir.nodes import Buffer, Expr, For, LoopKind, Program, Scope, Stmt, Var
from tuner.ir.visit import Body, rewrite_body, stores, with_body
from tuner.schedule.access import Access, accesses, accesses_of, of_buffer, written
from tuner.schedule.cover import overwritten
from tuner.schedule.defined import check_defined
from tuner.schedule.dependence import nested
from tuner.schedule.legality import equal_loops
from tuner.schedule.motion import meet_in_order
from tuner.schedule.nest import (
    Place,
    extents,
    find,
    find_buffer,
    put,
)
from tuner.schedule.region import Region, relaxed, touched
from tuner.schedule.restrict import restricted
from tuner.schedule.staging import redirected, shrunk
from tuner.schedule.steps import ComputeAt
from tuner.schedule.witness import shown


def compute_at(program: Program, step: ComputeAt) -> Program:
    """Moves the nest that produces `buffer` into `loop` of its consumer, as far as used there.

        for i in range(8):             for j in range(8):
            h[i] = x[i] * 2.0              for i in range(1):
        for j in range(8):      ->             h[i] = x[j + i] * 2.0
            y[j] = h[j] + 1.0              y[j] = h[0] + 1.0

    The buffer shrinks to the box that one iteration of `loop` reads, its dimensions permuted by
    `order`; it is local where it fits, else in the workspace. The producer's loops keep their
    names; those over the buffer's dimensions get the box's extents.

    Legal where one statement, earlier in a block around `loop`, makes the buffer and writes no
    other; it indexes each dimension of the buffer by one loop of its own, so that every element is
    computed from itself and other buffers only; all other uses are in the body of `loop`, in one
    box that moves with the loops around only. Whatever is read of the buffer must have been given a
    new value before, in the same run of that statement, and nothing that the body of `loop` writes
    into it may be read in a later iteration. What the producer reads must not be written before it
    is read in its new place. Where the box reaches beyond what the producer ran over, the producer
    is guarded, but not against elements outside the old buffer where all its accesses stay in
    bounds without.
    """
    place, buffer = find(program, step.loop), find_buffer(program, step.buffer)
    if place.loop.kind == LoopKind.VECTORIZED:
        raise ScheduleError(f"loop {step.loop!r} is vectorized: move before vectorizing")
    if buffer.scope == Scope.PARAM:
        raise ScheduleError(f"{step.buffer!r} is a parameter: only intermediate buffers can move")
    producer, later = _producer(program, place, step)
    body = place.loop.body
    _check_alone(program, place, producer, later, step)
    inner = extents(body)
    ranges = {**place.ranges(), **inner}
    region = touched(of_buffer(accesses(body), step.buffer), inner, ranges)
    spatial = _spatial(producer, region, step, ranges)
    _check_overwrites(buffer, place, producer, later)
    staged = shrunk(buffer, region, step.order)
    boxes = {v: (region.base[d], region.extents[d]) for v, d in spatial.items()}
    moved = restricted(producer, boxes, ranges)
    ranges = {**ranges, **extents(moved)}
    shapes = {b.name: b.shape for b in program.buffers()}
    moved = redirected(relaxed(moved, buffer, shapes, ranges, place.guards()), staged, ranges)
    new = (*moved, *redirected(body, staged, ranges))
    program = put(program, place, (with_body(place.loop, new),))
    _check_inputs(find(program, step.loop), _depth(place, later), later[:-1], len(moved))
    without = rewrite_body(program.body, lambda stmt: () if stmt is producer else stmt)
    others = tuple(staged.new if b.name == step.buffer else b for b in program.locals)
    return replace(program, body=without, locals=others)


def _producer(program: Program, place: Place, step: ComputeAt) -> tuple[Stmt, Body]:
    """The statement that writes the buffer, and those after it up to the one around the loop."""
    path: tuple[Stmt, ...] = (*place.around, place.loop)
    blocks = (program.body, *(stmt.body for stmt in place.around))
    for block, towards in zip(blocks, path, strict=True):
        until = next(i for i, stmt in enumerate(block) if stmt is towards)
        for at, stmt in enumerate(block[:until]):
            if any(s.buffer == step.buffer for s in stores((stmt,))):
                return stmt, block[at + 1 : until + 1]
    raise ScheduleError(
        f"no statement before the nest of {step.loop!r}, in a block around it, writes "
        f"{step.buffer!r}"
    )


def _check_alone(
    program: Program, place: Place, producer: Stmt, later: Body, step: ComputeAt
) -> None:
    """Raises ScheduleError unless the producer may run inside the loop instead."""
    made = accesses_of(producer)
    others = written(made) - {step.buffer}
    if others:
        raise ScheduleError(
            f"the nest that writes {step.buffer!r} also writes {', '.join(sorted(others))}"
        )
    used = of_buffer(accesses(place.loop.body), step.buffer)
    if all(a.writes for a in used):
        raise ScheduleError(f"the body of {step.loop!r} does not read {step.buffer!r}")
    everywhere = of_buffer(accesses(program.body), step.buffer)
    if len(everywhere) != len(used) + len(of_buffer(made, step.buffer)):
        raise ScheduleError(
            f"{step.buffer!r} is also used outside the nest that writes it and {step.loop!r}"
        )
    _check_body_writes(of_buffer(accesses((later[-1],)), step.buffer), place, later)


def _check_body_writes(used: Sequence[Access], place: Place, later: Body) -> None:
    """Raises ScheduleError where what one iteration writes into the buffer is read in a later one:
    it would be computed anew there."""
    ranges = {**place.ranges(), **extents(place.loop.body)}
    over = [s for s in (*place.around, place.loop)[_depth(place, later) :] if isinstance(s, For)]
    earlier = (nested([loop.var for loop in over], "<"),)
    for write in used:
        for use in used:
            if not write.writes or use.mode == "assign":
                continue
            equal = equal_loops(write, use, over, ranges)
            if equal is None or len(equal) == len(over):
                continue
            pair = shown([(write, use, earlier)], ranges, _around(place, later))
            if pair:
                raise ScheduleError(
                    f"{write.text()} is written in {place.loop.var!r}, where it would be computed "
                    f"anew{pair}"
                )


def _check_overwrites(buffer: Buffer, place: Place, producer: Stmt, later: Body) -> None:
    """Raises ScheduleError where an element may keep its value from an earlier run of the nest."""
    found, own = of_buffer(accesses_of(producer), buffer.name), extents((producer,))
    ranges = {**place.ranges(), **own}
    used = of_buffer(accesses(place.loop.body), buffer.name)
    alone = not any(a.writes for a in used)
    if alone and overwritten(found, touched(found, own, ranges), buffer, ranges):
        return
    check_defined(
        of_buffer(accesses((producer, *later)), buffer.name),
        {**ranges, **extents(later)},
        _around(place, later),
        f"may hold a value from an earlier run of the nest that writes {buffer.name!r}",
    )


def _depth(place: Place, later: Body) -> int:
    """How many loops and guards stand around the block of the producer."""
    path = (*place.around, place.loop)
    return next(n for n, stmt in enumerate(path) if stmt is later[-1])


def _around(place: Place, later: Body) -> tuple[Expr, ...]:
    """The guards around the block of the producer."""
    return Place(place.around[: _depth(place, later)], place.loop).guards()


def _check_inputs(place: Place, depth: int, between: Body, moved: int) -> None:
    """Raises ScheduleError where the first `moved` statements in the loop of `place`, which stood
    before the statements `between`, would read what has been written since."""
    path = (*place.around, place.loop)[depth:]
    position = (len(between), *(_index(a.body, b) for a, b in pairwise(path)))
    found = accesses((*between, path[0]))
    ranges = {**place.ranges(), **extents((*between, path[0]))}
    end = len(position)
    new = [a for a in found if a.position[:end] == position and a.position[end] < moved]
    for read in new:
        for write in found:
            if not write.writes or read.writes or write in new:
                continue
            pair = meet_in_order(write, read, 0, ranges)
            if pair:
                raise ScheduleError(
                    f"{write.text()} is written before {read.text()} would be read in "
                    f"{place.loop.var!r}{pair}"
                )


def _index(body: Body, stmt: Stmt) -> int:
    return next(n for n, other in enumerate(body) if other is stmt)


def _spatial(producer: Stmt, region: Region, step: ComputeAt, ranges: Ranges) -> dict[str, int]:
    """The dimension that each loop of the producer runs over, for those that run over one.

    Raises ScheduleError unless every access of the buffer names one loop per dimension, or the
    one element that is needed.
    """
    own = extents((producer,))
    found: dict[str, int] = {}
    for access in of_buffer(accesses_of(producer), step.buffer):
        for d, index in enumerate(access.indices):
            if isinstance(index, Var) and index.name in own:
                if found.setdefault(index.name, d) == d:
                    continue
            elif region.extents[d] == 1:
                form = simplify_linear(access.forms[d], {**ranges, **own})
                if form == region.base[d]:
                    continue
            raise ScheduleError(
                f"{access.text()}: subscript {d} must be one loop of the nest that writes the "
                f"buffer, used for this dimension only; move the buffer before splitting that nest"
            )
    return found
