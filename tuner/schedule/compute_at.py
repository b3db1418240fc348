"""compute_at: a buffer is computed where it is used, one tile at a time."""

from __future__ import annotations

from dataclasses import replace

from tuner.errors import ScheduleError
from tuner.ir.affine import Ranges, simplify_linear
from tuner.ir.nodes import Buffer, LoopKind, Program, Scope, Stmt, Var
from tuner.ir.visit import Body, rewrite_body, stores, with_body
from tuner.schedule.access import accesses, accesses_of, of_buffer, written
from tuner.schedule.cover import overwritten
from tuner.schedule.legality import check_untouched
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


def compute_at(program: Program, step: ComputeAt) -> Program:
    """Moves the nest that produces `buffer` into `loop` of its consumer, as far as used there.

        for i in range(8):             for j in range(8):
            h[i] = x[i] * 2.0              for i in range(1):
        for j in range(8):      ->             h[i] = x[j + i] * 2.0
            y[j] = h[j] + 1.0              y[j] = h[0] + 1.0

    The buffer shrinks to the box that one iteration of `loop` reads, its dimensions permuted by
    `order`; it is local where it fits, else in the workspace. The producer's loops keep their
    names; those over the buffer's dimensions get the box's extents.

    Legal where one statement, earlier in a block around `loop`, makes all writes of the buffer and
    no others; it indexes each dimension of the buffer by one loop of its own, so that every element
    is computed from itself and other buffers only, and first gives each a new value; all other
    reads are in the body of `loop`, in one box that moves with the loops around only; and nothing
    from the producer to the end of the statement that contains `loop` writes what the producer
    reads. Where the box reaches beyond what the producer ran over, the producer is guarded, but not
    against elements outside the old buffer where all its accesses stay in bounds without.
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
    _check_overwrites(buffer, place, producer)
    staged = shrunk(buffer, region, step.order)
    boxes = {v: (region.base[d], region.extents[d]) for v, d in spatial.items()}
    moved = restricted(producer, boxes, ranges)
    ranges = {**ranges, **extents(moved)}
    shapes = {b.name: b.shape for b in program.buffers()}
    moved = redirected(relaxed(moved, buffer, shapes, ranges, place.guards()), staged, ranges)
    new = (*moved, *redirected(body, staged, ranges))
    program = put(program, place, (with_body(place.loop, new),))
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
    check_untouched((step.buffer,), used, f"in {step.loop!r}, where it would be computed")
    if not used:
        raise ScheduleError(f"the body of {step.loop!r} does not read {step.buffer!r}")
    everywhere = of_buffer(accesses(program.body), step.buffer)
    if len(everywhere) != len(used) + len(of_buffer(made, step.buffer)):
        raise ScheduleError(
            f"{step.buffer!r} is also used outside the nest that writes it and {step.loop!r}"
        )
    inputs = {a.buffer for a in made} - {step.buffer}
    check_untouched(inputs, accesses(later), f"after {step.buffer!r} is computed from it")


def _check_overwrites(buffer: Buffer, place: Place, producer: Stmt) -> None:
    """Raises ScheduleError where an element may keep its value from an earlier run of the nest."""
    found, own = of_buffer(accesses_of(producer), buffer.name), extents((producer,))
    ranges = {**place.ranges(), **own}
    if not overwritten(found, touched(found, own, ranges), buffer, ranges):
        raise ScheduleError(
            f"the nest that writes {buffer.name!r} does not give every element that it touches a "
            f"new value first: its elements may outlive one run of it"
        )


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
