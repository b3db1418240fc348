"""Large local buffers go to the workspace."""

from __future__ import annotations

from dataclasses import replace

from tuner.ir.nodes import Program, Scope
from tuner.ir.visit import same_or_new
from tuner.target import Target

#: bytes of a local buffer that may stand on the stack
MAX_STACK_BYTES = 64 << 10


def place_buffers(program: Program, target: Target) -> Program:
    """A LOCAL buffer larger than MAX_STACK_BYTES becomes GLOBAL: no large stack arrays."""
    del target
    placed = tuple(
        replace(b, scope=Scope.GLOBAL)
        if b.scope is Scope.LOCAL and b.bytes > MAX_STACK_BYTES
        else b
        for b in program.locals
    )
    return replace(program, locals=same_or_new(program.locals, placed))
