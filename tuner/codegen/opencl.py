"""OpenCL C: one kernel for each top-level statement, launched one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.codegen.c_exprs import ExprPrinter
from tuner.codegen.c_family import LANES, BodyPrinter
from tuner.codegen.dialect import Dialect
from tuner.codegen.emitter import Emitter
from tuner.codegen.helpers import Helpers
from tuner.codegen.identifiers import C_WORDS, identifiers
from tuner.codegen.source import Kernel
from tuner.dtypes import F64
from tuner.ir.nodes import Buffer, LoopKind, Program, Scope, Stmt
from tuner.ir.visit import stores
from tuner.lower.dataflow import Touched, buffers_touched
from tuner.lower.exprs import Loads
from tuner.lower.launch import launch_of
from tuner.lower.privatize import lasting
from tuner.lower.promote_registers import registers

OPENCL = Dialect(
    name="OpenCL C",
    types={
        "f64": "double", "f32": "float", "i64": "long", "i32": "int", "i16": "short", "i8": "char",
        "u8": "uchar",
    },
    unsigned={"i64": "ulong", "i32": "uint", "i16": "ushort", "i8": "uchar", "u8": "uchar"},
    literal={"f64": "", "f32": "f"},
    maths={},
    masks={},
    parallel="",
    prefetch="",
    infinity="INFINITY",
    nan="NAN",
    maths_prefix="",
    vectors=False,
    spaces={
        Scope.PARAM: "__global ", Scope.GLOBAL: "__global ", Scope.SHARED: "__local ",
        Scope.LOCAL: "",
    },
    places={
        LoopKind.BLOCK_X: "get_group_id(0)", LoopKind.BLOCK_Y: "get_group_id(1)",
        LoopKind.BLOCK_Z: "get_group_id(2)", LoopKind.THREAD_X: "get_local_id(0)",
        LoopKind.THREAD_Y: "get_local_id(1)", LoopKind.THREAD_Z: "get_local_id(2)",
    },
    barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)",
)  # fmt: skip

_WORDS = """
kernel global local constant private half uchar ushort uint ulong bool2 size_t ptrdiff_t event_t
sampler_t image2d_t image3d_t pipe generic vec_step barrier printf read_only write_only read_write
"""
_KEYWORDS = C_WORDS | frozenset(_WORDS.split()) | {LANES}


@dataclass(frozen=True, slots=True)
class Kernels:
    """The OpenCL C of one program, without its header comment."""

    text: str
    kernels: tuple[Kernel, ...]
    scratch: tuple[Buffer, ...]


def translate(program: Program, name: str) -> Kernels:
    """The lowered `program` as kernels called NAME_0, NAME_1, … Raises CodegenError."""
    helpers = Helpers(name, OPENCL)
    names, read = identifiers(program, _KEYWORDS), Loads()
    texts, kernels = [], []
    for number, stmt in enumerate(program.body):
        kernel = _kernel(program, stmt, f"{name}_{number}")
        exprs = ExprPrinter(
            dialect=OPENCL,
            helpers=helpers,
            buffers={b.name: b for b in program.buffers()},
            registers=registers(program, read),
            names=names,
            readonly=frozenset(kernel.arguments) - {s.buffer for s in stores((stmt,))},
        )
        texts.append(_text(program, stmt, kernel, exprs, read))
        kernels.append(kernel)
    doubles = any(b.dtype == F64 for b in program.buffers())
    head = ["#pragma OPENCL EXTENSION cl_khr_fp64 : enable", ""] if doubles else []
    text = "\n".join([*head, *helpers.texts.values(), *texts])
    scratch = tuple(b for b in program.locals if b.scope is Scope.GLOBAL)
    return Kernels(text, tuple(kernels), scratch)


def _kernel(program: Program, stmt: Stmt, name: str) -> Kernel:
    touched = buffers_touched((stmt,))
    in_memory = (Scope.PARAM, Scope.GLOBAL)
    arguments = [b.name for b in program.buffers() if b.name in touched and b.scope in in_memory]
    launch = launch_of(stmt)
    return Kernel(name, tuple(arguments), launch.grid, launch.block)


def _text(program: Program, stmt: Stmt, kernel: Kernel, exprs: ExprPrinter, read: Loads) -> str:
    touched = buffers_touched((stmt,))
    used = [b for b in program.locals if b.name in touched]
    body = Emitter()
    with body.block(""):
        for buffer in used:
            if buffer.scope is Scope.SHARED:
                kind = OPENCL.type(buffer.dtype)
                body.line(f"__local {kind} {exprs.names[buffer.name]}[{buffer.size}];")
        local = [b for b in used if b.scope is Scope.LOCAL]
        kept = lasting((stmt,), {b.name for b in local}, Touched(read))
        printer = BodyPrinter(exprs, read, body, lasting=kept)
        printer.body(printer.placed((stmt,)), local)
    parameters = ", ".join(_parameter(exprs, name) for name in kernel.arguments)
    x, y, z = kernel.block
    return (
        f"__attribute__((reqd_work_group_size({x}, {y}, {z})))\n"
        f"__kernel void {kernel.name}({parameters})\n{body.text()}\n"
    )


def _parameter(exprs: ExprPrinter, name: str) -> str:
    buffer = exprs.buffers[name]
    const = "const " if name in exprs.readonly else ""
    return f"__global {const}{OPENCL.type(buffer.dtype)} *{exprs.names[name]}"
