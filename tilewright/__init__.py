"""Tilewright: searches the schedules of a tensor program and serves the best it has verified.

These names make a program's text importable Python:

    from tilewright import buffer, f32, grid

    def dense(x: f32[512, 768], w: f32[768, 3072], y: f32[512, 3072]): ...

Python's own range, min, max, abs, round, pow and bool keep their names in program text.
"""

from tilewright.language import (
    bf16,
    buffer,
    ceil,
    clamp,
    const,
    cos,
    erf,
    exp,
    f16,
    f32,
    f64,
    floor,
    grid,
    i8,
    i16,
    i32,
    i64,
    inf,
    log,
    rsqrt,
    select,
    sigmoid,
    sin,
    sqrt,
    tanh,
    u8,
    unrolled,
    vectorized,
)

__all__ = [
    "bf16",
    "buffer",
    "ceil",
    "clamp",
    "const",
    "cos",
    "erf",
    "exp",
    "f16",
    "f32",
    "f64",
    "floor",
    "grid",
    "i8",
    "i16",
    "i32",
    "i64",
    "inf",
    "log",
    "rsqrt",
    "select",
    "sigmoid",
    "sin",
    "sqrt",
    "tanh",
    "u8",
    "unrolled",
    "vectorized",
]
