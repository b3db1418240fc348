"""The primitive that spreads a loop's iterations over threads: parallel."""

from __future__ import annotations

from dataclasses import replace

from tuner.errors import ScheduleError
from tuner.ir.nodes import Buffer, Expr, For, Load, LoopKind, Program, Scope, Stmt, Store, Var
from tuner.ir.visit import Body, loops, map_body_exprs, map_expr, rewrite_body
from tuner.schedule.access import accesses, accesses_of, of_buffer, written
from tuner.schedule.legality import check_parallel
from tuner.schedule.loop_steps import Parallel
from tuner.schedule.nest import Place, extents, find, find_serial, put
from tuner.schedule.private import defined_first

#: Most bytes of a workspace buffer with a copy for each iteration.
MAX_COPIES_BYTES = 256 << 20


def parallel(program: Program, step: Parallel) -> Program:
    """Marks `loop` so that threads share its iterations.

        for i in range(64):                 for i in parallel(64):
            for j in range(8):                  for j in range(8):
                t[j] = x[i, j] * 2.0    ->          t[i, j] = x[i, j] * 2.0
            for k in range(8):                  for k in range(8):
                y[i, k] = t[7 - k]                  y[i, k] = t[i, 7 - k]

    Legal for a serial loop, not inside or around another parallel one, whose iterations may run at
    the same time: no element that one iteration writes is touched by another, accumulations
    included. A buffer of which every iteration reads only what it has written itself, and that
    nothing outside of the loop touches, is private: a local one is each thread's own, one in the
    workspace gets a copy for each iteration (at most 256 MiB) unless iterations have elements of
    their own there. Later steps must keep all that.
    """
    place = find_serial(program, step.loop)
    check_one_level(place)
    private = [b for b in private_buffers(program, place) if _is_global(program, b)]
    for name in sorted(b for b in private if not _is_apart(place, b)):
        program = _copied(program, find(program, step.loop), program.buffer(name))
    place = find(program, step.loop)
    check_threads(program, place)
    return put(program, place, (replace(place.loop, kind=LoopKind.PARALLEL),))


def _is_global(program: Program, name: str) -> bool:
    return program.buffer(name).scope is Scope.GLOBAL


def _is_apart(place: Place, name: str) -> bool:
    """Whether iterations of the loop touch no element of the buffer together."""
    found = of_buffer(accesses_of(place.loop), name)
    ranges = {**place.ranges(), **extents(place.loop.body)}
    try:
        check_parallel(place.loop, found, ranges, place.guards())
    except ScheduleError:
        return False
    return True


def check_threads(program: Program, place: Place) -> None:
    """Raises ScheduleError unless threads may share the iterations of the loop of `place`."""
    check_one_level(place)
    own = {b for b in private_buffers(program, place) if program.buffer(b).scope is Scope.LOCAL}
    found = [a for a in accesses_of(place.loop) if a.buffer not in own]
    ranges = {**place.ranges(), **extents(place.loop.body)}
    check_parallel(place.loop, found, ranges, place.guards())


def check_one_level(place: Place) -> None:
    """Raises ScheduleError where a parallel loop stands around or inside that of `place`."""
    nested = [s.var for s in place.around if isinstance(s, For) and s.kind is LoopKind.PARALLEL]
    nested += [f.var for f in loops(place.loop.body) if f.kind is LoopKind.PARALLEL]
    if nested:
        raise ScheduleError(
            f"{place.loop.var!r} and {nested[0]!r} cannot both be parallel, one inside the other: "
            f"fuse the loops, or choose one"
        )


def private_buffers(program: Program, place: Place) -> set[str]:
    """The intermediate buffers that only this loop uses, each iteration for itself."""
    inside, everywhere = accesses(place.loop.body), accesses(program.body)
    ranges = {**place.ranges(), **extents(place.loop.body)}
    local = {b.name for b in program.locals}
    return {
        name
        for name in written(inside) & local
        if len(of_buffer(inside, name)) == len(of_buffer(everywhere, name))
        and defined_first(of_buffer(inside, name), ranges)
    }


def _copied(program: Program, place: Place, buffer: Buffer) -> Program:
    """`program` with a copy of `buffer` for each iteration of the loop."""
    loop = place.loop
    grown = replace(buffer, shape=(loop.extent, *buffer.shape))
    if grown.bytes > MAX_COPIES_BYTES:
        raise ScheduleError(
            f"{buffer.name!r} is private to an iteration of {loop.var!r}; {loop.extent} copies "
            f"need {grown.bytes} bytes, more than {MAX_COPIES_BYTES}: make a loop of fewer "
            f"iterations parallel"
        )
    body = _indexed(loop.body, buffer.name, Var(loop.var))
    program = put(program, place, (replace(loop, body=body),))
    locals_ = tuple(grown if b is buffer else b for b in program.locals)
    return replace(program, locals=locals_)


def _indexed(body: Body, buffer: str, first: Expr) -> Body:
    """`body` with `first` before the subscripts of every access of `buffer`."""

    def in_expr(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.buffer == buffer:
            return replace(expr, indices=(first, *expr.indices))
        return expr

    def in_stmt(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Store) and stmt.buffer == buffer:
            return replace(stmt, indices=(first, *stmt.indices))
        return stmt

    return rewrite_body(map_body_exprs(body, lambda e: map_expr(e, in_expr)), in_stmt)
