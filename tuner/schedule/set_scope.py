"""set_scope: where an intermediate buffer lives."""

from __future__ import annotations

from dataclasses import replace

from tuner.errors import ScheduleError
from tuner.ir.nodes import Program, Scope
from tuner.schedule.memory_steps import SetScope
from tuner.schedule.nest import find_intermediate, redeclare


def set_scope(program: Program, step: SetScope) -> Program:
    """Moves the intermediate `buffer` to the scope "local", "shared" or "global".

        h = buffer(f32[8])             h = buffer(f32[8], "local")
        for i in range(8):       ->    for i in range(8):
            h[i] = x[i]                    h[i] = x[i]

    Legal for every intermediate buffer; a local one (registers or the stack) must be small enough.
    A shared one is seen by the threads of one block: only targets with blocks have it.
    """
    buffer = find_intermediate(program, step.buffer)
    return redeclare(program, replace(buffer, scope=parse_scope(step.scope)))


def parse_scope(text: str) -> Scope:
    """The scope of an intermediate buffer that `text` names. Raises ScheduleError."""
    if text not in (Scope.LOCAL, Scope.SHARED, Scope.GLOBAL):
        raise ScheduleError(f"a scope is 'local', 'shared' or 'global'; found {text!r}")
    return Scope(text)
