"""The primitive that gives a loop's iterations to the blocks and threads of a GPU: bind."""

from __future__ import annotations

from dataclasses import replace

from tuner.errors import ScheduleError
from tuner.ir.nodes import AXES, For, Program, Scope
from tuner.ir.visit import loops
from tuner.schedule.access import accesses_of
from tuner.schedule.legality import check_parallel
from tuner.schedule.loop_steps import Bind
from tuner.schedule.nest import Place, extents, find, find_serial, put
from tuner.schedule.parallel import private_buffers


def bind(program: Program, step: Bind) -> Program:
    """Marks `loop` so that each iteration is another block, or another thread of a block.

        for i in range(4):            for i in bound(4, "blockIdx.x"):
            for j in range(64):           for j in bound(64, "threadIdx.x"):
                y[i, j] = x[i, j]  ->         y[i, j] = x[i, j]

    Legal for a serial loop with no loop of the same axis around or inside it, a loop over blocks
    not inside one over threads, whose iterations may run at the same time: no element that one
    iteration writes is touched by another, accumulations included. A local buffer that every
    iteration overwrites before it reads it, and that nothing outside of the loop touches, is the
    iteration's own; so is a shared one for a loop over blocks. Later steps must keep all that.
    Loops over threads that stand side by side are the same threads, which wait for each other in
    between where one needs what another has stored.
    """
    if step.axis not in AXES:
        raise ScheduleError(f"no axis is called {step.axis!r}; there are: {', '.join(AXES)}")
    place = find_serial(program, step.loop)
    program = put(program, place, (replace(place.loop, kind=AXES[step.axis]),))
    check_bound(program, find(program, step.loop))
    return program


def check_bound(program: Program, place: Place) -> None:
    """Raises ScheduleError unless the bound loop of `place` stands as its axis may, and its
    iterations may run at the same time."""
    check_axes(place)
    loop = place.loop
    scopes = {Scope.LOCAL, Scope.SHARED} if loop.kind.is_block else {Scope.LOCAL}
    own = {b for b in private_buffers(program, place) if program.buffer(b).scope in scopes}
    found = [a for a in accesses_of(loop) if a.buffer not in own]
    check_parallel(loop, found, {**place.ranges(), **extents(loop.body)}, place.guards())


def check_axes(place: Place) -> None:
    """Raises ScheduleError where a loop of the same axis stands around or inside that of `place`,
    or a loop over blocks inside one over threads."""
    loop, kind = place.loop, place.loop.kind
    around = [s for s in place.around if isinstance(s, For)]
    inside = list(loops(loop.body))
    for other in (*around, *inside):
        if other.kind is kind:
            raise ScheduleError(
                f"{other.var!r} is bound to {kind} already, and one of it and {loop.var!r} stands "
                f"in the other: choose another axis"
            )
    threads = [f.var for f in around if f.kind.is_thread]
    blocks = [f.var for f in inside if f.kind.is_block]
    if (kind.is_block and threads) or (kind.is_thread and blocks):
        outer, inner = (threads[0], loop.var) if threads else (loop.var, blocks[0])
        raise ScheduleError(
            f"{inner!r} would be a loop over blocks inside {outer!r}, which is over threads: "
            f"reorder them first"
        )
