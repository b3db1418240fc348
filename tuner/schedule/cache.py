"""cache_write: a tile of a buffer is held in a local buffer while a body works on it."""

from __future__ import annotations

from tuner.errors import ScheduleError
from tuner.ir.nodes import LoopKind, Program, Scope
from tuner.ir.visit import stores, with_body
from tuner.schedule.access import accesses, of_buffer
from tuner.schedule.cover import overwritten
from tuner.schedule.nest import (
    Place,
    check_count,
    check_fresh,
    declare,
    extents,
    find,
    find_buffer,
    put,
)
from tuner.schedule.region import relaxed, touched
from tuner.schedule.staging import copied, redirected, stage
from tuner.schedule.steps import CacheWrite


def cache_write(program: Program, step: CacheWrite) -> Program:
    """Holds the tile of `buffer` that the body of `loop` touches in the local buffer `cache`.

        for i in range(4):             for i in range(4):
            c[i] = 0.0                     acc[0] = 0.0
            for k in range(8):  ->         for k in range(8):
                c[i] += a[i, k]                acc[0] += a[i, k]
                                           for t in range(1):
                                               c[i + t] = acc[t]

    Legal where the body writes the buffer and all its accesses of it lie in one box that moves
    with the loops around only, and the box fits into a local buffer. A nest over `load_loops` that
    fills the cache comes first, unless one assignment in the body covers the box before anything
    else reads it; something must have been stored there before. Both nests are guarded where the
    box may reach out of the buffer; guards in the body that only kept out such elements are dropped
    where all other accesses stay in bounds. Loops of the load and store nests stand in the order of
    the buffer's dimensions.
    """
    place, buffer = find(program, step.loop), find_buffer(program, step.buffer)
    if place.loop.kind == LoopKind.VECTORIZED:
        raise ScheduleError(f"loop {step.loop!r} is vectorized: cache before vectorizing")
    check_count("store loops", len(buffer.shape), step.store_loops)
    body = place.loop.body
    found = of_buffer(accesses(body), step.buffer)
    if not any(a.writes for a in found):
        raise ScheduleError(f"the body of {step.loop!r} never writes {step.buffer!r}")
    inner = extents(body)
    ranges = {**place.ranges(), **inner}
    region = touched(found, inner, ranges)
    staged = stage(buffer, region, step.cache, step.order, Scope.LOCAL)
    loads: tuple[str, ...] = ()
    if not overwritten(found, region, buffer, ranges):
        loads = step.load_loops
        check_count("load loops (the tile is not overwritten first)", len(buffer.shape), loads)
        _check_stored_before(program, place, step)
    check_fresh(program, step.cache, *loads, *step.store_loops)
    shapes = {b.name: b.shape for b in program.buffers()}
    body = redirected(relaxed(body, buffer, shapes, ranges, place.guards()), staged, ranges)
    if loads:
        body = (*copied(buffer, staged, loads, ranges, back=False), *body)
    body = (*body, *copied(buffer, staged, step.store_loops, ranges, back=True))
    return declare(put(program, place, (with_body(place.loop, body),)), staged.new)


def _check_stored_before(program: Program, place: Place, step: CacheWrite) -> None:
    """Raises ScheduleError where the load nest would read before anything is stored."""
    path = (*place.around, place.loop)
    blocks = (program.body, *(stmt.body for stmt in place.around))
    for block, towards in zip(blocks, path, strict=True):
        for stmt in block:
            if stmt is towards:
                break
            if any(store.buffer == step.buffer for store in stores((stmt,))):
                return
    raise ScheduleError(
        f"the body of {step.loop!r} may not overwrite the whole tile of {step.buffer!r}, and "
        f"nothing is stored there before that could be loaded"
    )
