"""Tilewright: searches the schedules of a tensor program and serves the best it has verified.

A program is a function over the language's names, whose text is read and whose body never runs:

    from tilewright import buffer, f32, grid, program

    @program
    def dense(x: f32[512, 768], w: f32[768, 3072], y: f32[512, 3072]): ...

    kernel = dense.tune(trials=128)     # a callable on numpy arrays

Client and AsyncClient speak to a service; `op` names an operator of its catalogue, `load` makes a
callable of generated C. Python's own range, min, max, abs, round, pow and bool keep their names in
program text.
"""

from tilewright.client import Event, ServiceError
from tilewright.clients import AsyncClient, Client
from tilewright.connection import ConnectionUnknown
from tilewright.kernel_header import KernelError
from tilewright.kernels import Kernel, load
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
    parallel,
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
from tilewright.operations import Op, WaitTimeout, op
from tilewright.programs import Program, program
from tilewright.tuning import TuningFailed
from tuner.dtypes import bf16_bits, bf16_values

__all__ = [
    "AsyncClient",
    "Client",
    "ConnectionUnknown",
    "Event",
    "Kernel",
    "KernelError",
    "Op",
    "Program",
    "ServiceError",
    "TuningFailed",
    "WaitTimeout",
    "bf16",
    "bf16_bits",
    "bf16_values",
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
    "load",
    "log",
    "op",
    "parallel",
    "program",
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
