"""Primitives that say how a loop is executed: unroll, vectorize."""

from __future__ import annotations

from dataclasses import replace

from tuner.errors import ScheduleError
from tuner.ir.nodes import For, If, LoopKind, Program
from tuner.ir.visit import Body, loops
from tuner.schedule.access import accesses_of
from tuner.schedule.legality import check_lanes
from tuner.schedule.nest import Place, find_serial, put
from tuner.schedule.steps import Unroll, Vectorize

#: Most copies of one statement that unrolled loops around each other may write out.
MAX_COPIES = 4096


def unroll(program: Program, step: Unroll) -> Program:
    """Marks `loop` to be written out, one copy of its body after the other.

        for i in range(4):       ->    for i in unrolled(4):
            y[i] = x[i]                    y[i] = x[i]

    Legal for every serial loop, as long as the unrolled loops around a statement write out at most
    4096 copies of it (lanes of vectorized loops not counted).
    """
    place = find_serial(program, step.loop)
    check_unrolled(program, place)
    return put(program, place, (replace(place.loop, kind=LoopKind.UNROLLED),))


def check_unrolled(program: Program, place: Place) -> None:
    """Raises ScheduleError where the unrolled loop of `place`, with those around and inside it,
    writes out too much."""
    del program
    around = 1
    for stmt in place.around:
        if isinstance(stmt, For) and stmt.kind == LoopKind.UNROLLED:
            around *= stmt.extent
    copies = around * place.loop.extent * _copies(place.loop.body)
    if copies > MAX_COPIES:
        raise ScheduleError(
            f"unrolling {place.loop.var!r} would write out {copies} copies of a statement; at most "
            f"{MAX_COPIES} are allowed: split the loop and unroll the inner part"
        )


def _copies(body: Body) -> int:
    """Most copies of one statement below `body` that its unrolled loops write out."""
    most = 1
    for stmt in body:
        if isinstance(stmt, For):
            factor = stmt.extent if stmt.kind == LoopKind.UNROLLED else 1
            most = max(most, factor * _copies(stmt.body))
        elif isinstance(stmt, If):
            most = max(most, _copies(stmt.body))
    return most


def vectorize(program: Program, step: Vectorize) -> Program:
    """Marks `loop` so that its iterations become lanes of vectors.

        for i in range(16):      ->    for i in vectorized(16):
            y[i] = x[i]                    y[i] = x[i]

    Legal for a serial loop that contains no loop and whose iterations may run in lockstep, each
    statement reading in all of them before it writes in any: no two instances that conflict change
    places, and an element that several iterations accumulate into is the same in all of them (a
    horizontal reduction).
    """
    place = find_serial(program, step.loop)
    check_vectorized(program, place)
    return put(program, place, (replace(place.loop, kind=LoopKind.VECTORIZED),))


def check_vectorized(program: Program, place: Place) -> None:
    """Raises ScheduleError unless the iterations of the loop of `place` may be lanes."""
    del program
    inner = [loop.var for loop in loops(place.loop.body)]
    if inner:
        raise ScheduleError(
            f"only an innermost loop can be vectorized; {place.loop.var!r} contains "
            f"{', '.join(inner)}"
        )
    check_lanes(place.loop, accesses_of(place.loop), place.ranges(), place.guards())
