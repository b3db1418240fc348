"""cache_read: a tile of a buffer is copied once and read many times."""

from __future__ import annotations

from tuner.errors import ScheduleError
from tuner.ir.nodes import LoopKind, Program
from tuner.ir.visit import with_body
from tuner.schedule.access import accesses, of_buffer
from tuner.schedule.legality import check_read_first
from tuner.schedule.memory_steps import CacheRead
from tuner.schedule.nest import (
    check_count,
    check_fresh,
    declare,
    extents,
    find,
    find_buffer,
    put,
)
from tuner.schedule.region import touched
from tuner.schedule.set_scope import parse_scope
from tuner.schedule.staging import copied, redirected, stage


def cache_read(program: Program, step: CacheRead) -> Program:
    """Copies the tile of `buffer` that the body of `loop` reads into `cache`, and reads it there.

        for i in range(4):               for i in range(4):
            for r in range(9):               for t in range(8):
                for k in range(8):    ->         xs[t] = x[i, t]
                    y[i, r] += x[i, k]       for r in range(9):
                                                 for k in range(8):
                                                     y[i, r] += xs[k]

    The cache is local (registers or the stack), shared (memory of a block of threads) or global
    (the workspace), as `scope` says; its dimensions are the buffer's, permuted by `order`. Loops of
    the copy stand in the order of the buffer's dimensions.

    Legal where the body reads the buffer, but no element that it has written itself before, and
    all reads lie in one box that moves with the loops around only. What the body writes goes to the
    buffer itself. The copy is guarded where the box may reach out of the buffer; no read goes
    there, so that what is not copied is never used.
    """
    place, buffer = find(program, step.loop), find_buffer(program, step.buffer)
    if place.loop.kind == LoopKind.VECTORIZED:
        raise ScheduleError(f"loop {step.loop!r} is vectorized: cache before vectorizing")
    scope = parse_scope(step.scope)
    check_count("loops", len(buffer.shape), step.loops)
    check_fresh(program, step.cache, *step.loops)
    body = place.loop.body
    found = of_buffer(accesses(body), step.buffer)
    reads = [a for a in found if not a.writes]
    if not reads:
        raise ScheduleError(f"nothing in the body of {step.loop!r} reads {step.buffer!r}")
    inner = extents(body)
    ranges = {**place.ranges(), **inner}
    why = "where its copy would be read; cache it elsewhere"
    check_read_first(found, ranges, place.guards(), why)
    staged = stage(buffer, touched(reads, inner, ranges), step.cache, step.order, scope)
    copy = copied(buffer, staged, step.loops, ranges, back=False)
    new = (*copy, *redirected(body, staged, ranges, stores=False))
    return declare(put(program, place, (with_body(place.loop, new),)), staged.new)
