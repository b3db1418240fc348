"""C for GCC and Clang: vector extensions, no headers, one exported kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.codegen import avx512
from tuner.codegen.c_exprs import ExprPrinter
from tuner.codegen.c_family import LANES, BodyPrinter
from tuner.codegen.dialect import Dialect
from tuner.codegen.emitter import Emitter
from tuner.codegen.helpers import Helpers
from tuner.codegen.identifiers import C_WORDS, identifiers
from tuner.dtypes import F16
from tuner.errors import CodegenError
from tuner.ir.nodes import Buffer, Program, Scope
from tuner.ir.visit import outputs, stores
from tuner.lower.dataflow import loads_below
from tuner.lower.exprs import Loads
from tuner.lower.promote_registers import registers

C = Dialect(
    name="C",
    types={
        "f64": "double", "f32": "float", "f16": "_Float16", "i64": "long", "i32": "int",
        "i16": "short", "i8": "signed char", "u8": "unsigned char", "bool": "_Bool",
        "bf16": "unsigned short",
    },
    unsigned={
        "i64": "unsigned long", "i32": "unsigned", "i16": "unsigned short",
        "i8": "unsigned char", "u8": "unsigned char",
    },
    literal={"f64": "", "f32": "f", "f16": "f16"},
    maths={"f64": "", "f32": "f", "f16": "f"},
    masks={
        "f64": "i64", "f32": "i32", "i64": "i64", "i32": "i32", "i16": "i16", "i8": "i8",
        "u8": "i8", "bf16": "i16",
    },
    parallel="#pragma omp parallel for num_threads({threads}) schedule(static)",
    prefetch="__builtin_prefetch(&{place});",
    infinity="__builtin_inff()",
    nan='__builtin_nanf("")',
    maths_prefix="__builtin_",
    vectors=True,
    spaces=dict.fromkeys(Scope, ""),
    places={},
    barrier="",
)  # fmt: skip

#: C for targets with AVX-512.
C_AVX512 = replace(C, vector_ops=avx512.VECTOR_OPS, whole_register=avx512.WHOLE_REGISTER)

#: Bytes to which buffers in the workspace are aligned.
ALIGNMENT = 64
_WORKSPACE, _BASE = "workspace", "base"
_KEYWORDS = C_WORDS | {_WORKSPACE, _BASE, LANES}


@dataclass(frozen=True, slots=True)
class Translation:
    """The C of one kernel, without its header comment."""

    text: str
    workspace_bytes: int
    #: linker flags of the libraries that it needs
    libs: tuple[str, ...]


def translate(
    program: Program, name: str, threads: int = 1, isa: Iterable[str] = ()
) -> Translation:
    """The lowered `program` as a C function called `name`; `threads` share its parallel loops, and
    `isa` are features of the machine, as in targets. Raises CodegenError."""
    dialect = C_AVX512 if set(isa) >= avx512.FEATURES else C
    for buffer in program.locals:
        if buffer.scope is Scope.SHARED:
            raise CodegenError(f"C has no shared memory for {buffer.name}: make it local or global")
    helpers = Helpers(name, dialect)
    writes, loads = set(outputs(program)), Loads()
    exprs = ExprPrinter(
        dialect=dialect,
        helpers=helpers,
        buffers={b.name: b for b in program.buffers()},
        registers=registers(program, loads),
        names=identifiers(program, _KEYWORDS),
        readonly=frozenset(b.name for b in program.params if b.name not in writes),
    )
    offsets, size = _workspace(program.locals)
    body = Emitter()
    with body.block(""):
        _prologue(program, loads, exprs, offsets, body)
        local = [b for b in program.locals if b.scope is Scope.LOCAL]
        BodyPrinter(exprs, loads, body, threads).body(program.body, local)
        body.line("return 0;")
    text = "\n".join([
        *helpers.typedefs(),
        "",
        *helpers.texts.values(),
        f"__SIZE_TYPE__ {name}_workspace_bytes(void)\n{{\n    return {size};\n}}\n",
        f"int {name}({_parameters(program.params, writes, exprs)})",
        _with_types(body.text(), name, sorted(exprs.types)),
        "",
    ])  # fmt: skip
    halves = any(b.dtype == F16 for b in program.buffers())
    libs = ("-lm",) * helpers.libm + ("-lgcc",) * halves
    return Translation(text.lstrip("\n"), size, libs)


def _workspace(buffers: Sequence[Buffer]) -> tuple[dict[str, int], int]:
    """Offset of each GLOBAL buffer, and the bytes to ask for: room to align the start included."""
    offsets: dict[str, int] = {}
    size = 0
    for buffer in buffers:
        if buffer.scope is Scope.GLOBAL:
            offsets[buffer.name] = size
            size += -(-buffer.bytes // ALIGNMENT) * ALIGNMENT
    return offsets, size + ALIGNMENT - 1 if size else 0


def _prologue(
    program: Program,
    loads: Loads,
    exprs: ExprPrinter,
    offsets: Mapping[str, int],
    out: Emitter,
) -> None:
    read = {load.buffer for load in loads_below(program.body, loads)}
    used = read | {store.buffer for store in stores(program.body)}
    for buffer in program.params:
        if buffer.name not in used:
            out.line(f"(void){exprs.names[buffer.name]};")
    if not offsets:
        out.line(f"(void){_WORKSPACE};")
        return
    out.line(f"if (!{_WORKSPACE})")
    out.line("    return 1;")
    address = f"((__UINTPTR_TYPE__){_WORKSPACE} + {ALIGNMENT - 1})"
    out.line(f"char *{_BASE} = (char *)({address} & -(__UINTPTR_TYPE__){ALIGNMENT});")
    for name, offset in offsets.items():
        kind = C.type(exprs.buffers[name].dtype)
        out.line(f"{kind} *{exprs.names[name]} = ({kind} *)({_BASE} + {offset});")
        if name not in read:
            out.line(f"(void){exprs.names[name]};")


def _parameters(params: Sequence[Buffer], writes: set[str], exprs: ExprPrinter) -> str:
    """Without `restrict`, though nothing overlaps: fuzzing found gcc 12 to miscompile loops over
    such pointers (-fno-ivopts and -fno-tree-pta cured it), and no kernel of the demo gained."""
    parts = [
        f"{'' if b.name in writes else 'const '}{C.type(b.dtype)} *{exprs.names[b.name]}"
        for b in params
    ]
    return ", ".join([*parts, f"void *{_WORKSPACE}"])


def _with_types(body: str, name: str, types: Sequence[str]) -> str:
    """`body` with short names, inside the function only, for the vector types it uses."""
    head, rest = body.split("\n", 1)
    return "\n".join([head, *(f"    typedef {name}_{t} {t};" for t in types), rest])
