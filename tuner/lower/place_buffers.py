"""Large local buffers go to the workspace."""

from __future__ import annotations

from dataclasses import replace

from tuner.errors import CodegenError
from tuner.ir.nodes import Buffer, Program, Scope
from tuner.ir.visit import same_or_new
from tuner.target import Target

#: bytes of a local buffer that may stand on the stack
MAX_STACK_BYTES = 64 << 10


def place_buffers(program: Program, target: Target) -> Program:
    """A LOCAL buffer larger than MAX_STACK_BYTES becomes GLOBAL: no large stack arrays."""
    if target.has_blocks and (large := [b for b in program.locals if _too_large(b)]):
        raise CodegenError(
            f"{large[0].name!r} has {large[0].bytes} bytes, and each thread needs its own: at most "
            f"{MAX_STACK_BYTES} are allowed, use smaller tiles"
        )
    placed = tuple(replace(b, scope=Scope.GLOBAL) if _too_large(b) else b for b in program.locals)
    return replace(program, locals=same_or_new(program.locals, placed))


def _too_large(buffer: Buffer) -> bool:
    return buffer.scope is Scope.LOCAL and buffer.bytes > MAX_STACK_BYTES
