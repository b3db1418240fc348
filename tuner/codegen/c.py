"""C for GCC and Clang: vector extensions, no headers, one exported kernel."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence, Set
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

#: Bytes to which buffers in memory that the caller hands in are aligned.
ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class _Area:
    """Memory that the caller hands in for buffers of the kernel."""

    pointer: str
    #: the C variable of its first aligned byte
    base: str
    buffers: tuple[Buffer, ...] = ()
    readonly: bool = False

    def offsets(self) -> dict[str, int]:
        """Where each buffer begins, from the aligned start."""
        ends = itertools.accumulate(map(_aligned, self.buffers), initial=0)
        return {b.name: offset for b, offset in zip(self.buffers, ends, strict=False)}

    @property
    def bytes(self) -> int:
        """What to ask for: room to align the start included."""
        size = sum(map(_aligned, self.buffers))
        return size + ALIGNMENT - 1 if size else 0

    @property
    def parameter(self) -> str:
        """Its declaration."""
        return f"{'const ' if self.readonly else ''}void *{self.pointer}"


def _aligned(buffer: Buffer) -> int:
    return -(-buffer.bytes // ALIGNMENT) * ALIGNMENT


_WORKSPACE = _Area("workspace", "base")
_PREPARED = _Area("prepared", "prepared_base")
_KEYWORDS = C_WORDS | {LANES} | {n for a in (_WORKSPACE, _PREPARED) for n in (a.pointer, a.base)}


@dataclass(frozen=True, slots=True)
class Translation:
    """The C of one kernel, without its header comment."""

    text: str
    workspace_bytes: int
    #: linker flags of the libraries that it needs
    libs: tuple[str, ...]
    #: of what NAME_prepare fills; 0 where there is no such function
    prepared_bytes: int = 0


def translate(
    program: Program,
    name: str,
    threads: int = 1,
    isa: Iterable[str] = (),
    ahead: Program | None = None,
) -> Translation:
    """The lowered `program` as a C function called `name`; `threads` share its parallel loops, and
    `isa` are features of the machine, as in targets. Raises CodegenError.

    `ahead` and `program` may be the lowered halves of a tuner.lower.split_constants.Split.
    """
    dialect = C_AVX512 if set(isa) >= avx512.FEATURES else C
    helpers = Helpers(name, dialect)
    functions: list[str] = []
    workspace = replace(_WORKSPACE, buffers=_in_memory(program))
    areas: tuple[_Area, ...] = (workspace,)
    prepared_bytes = 0
    if ahead is not None:
        handed = tuple(b for b in ahead.params if b.name in outputs(ahead))
        filled = replace(_PREPARED, buffers=handed + _in_memory(ahead))
        areas = (replace(_PREPARED, buffers=handed, readonly=True), workspace)
        prepared_bytes = filled.bytes
        function = _Function(ahead, f"{name}_prepare", (filled,), helpers, threads)
        functions += [_size_function(name, filled), function.text(name)]
    functions.append(_size_function(name, workspace))
    functions.append(_Function(program, name, areas, helpers, threads).text(name))
    text = "\n".join([*helpers.typedefs(), "", *helpers.texts.values(), *functions, ""])
    halves = any(b.dtype == F16 for part in (program, ahead) if part for b in part.buffers())
    libs = ("-lm",) * helpers.libm + ("-lgcc",) * halves
    return Translation(text.lstrip("\n"), workspace.bytes, libs, prepared_bytes)


def _size_function(name: str, area: _Area) -> str:
    return f"__SIZE_TYPE__ {name}_{area.pointer}_bytes(void)\n{{\n    return {area.bytes};\n}}\n"


def _in_memory(program: Program) -> tuple[Buffer, ...]:
    """The buffers that need memory of the caller's."""
    for buffer in program.locals:
        if buffer.scope is Scope.SHARED:
            raise CodegenError(f"C has no shared memory for {buffer.name}: make it local or global")
    return tuple(b for b in program.locals if b.scope is Scope.GLOBAL)


class _Function:
    """One C function: a lowered program whose buffers are arguments, or lie in `areas`."""

    def __init__(
        self, program: Program, name: str, areas: Sequence[_Area], helpers: Helpers, threads: int
    ) -> None:
        self._program, self._name, self._areas, self._threads = program, name, areas, threads
        self._writes, self._loads = set(outputs(program)), Loads()
        self._exprs = ExprPrinter(
            dialect=helpers.dialect,
            helpers=helpers,
            buffers={b.name: b for b in program.buffers()},
            registers=registers(program, self._loads),
            names=identifiers(program, _KEYWORDS),
            readonly=frozenset(b.name for b in program.params if b.name not in self._writes),
        )
        placed = {b.name for area in areas for b in area.buffers}
        self._arguments = [b for b in program.params if b.name not in placed]

    def text(self, prefix: str) -> str:
        """The definition; types of the kernel begin with `prefix`."""
        body = Emitter()
        with body.block(""):
            self._declarations(body)
            local = [b for b in self._program.locals if b.scope is Scope.LOCAL]
            printer = BodyPrinter(self._exprs, self._loads, body, self._threads)
            printer.body(self._program.body, local)
            body.line("return 0;")
        head = f"int {self._name}({self._parameters()})"
        return f"{head}\n{_with_types(body.text(), prefix, sorted(self._exprs.types))}"

    def _declarations(self, out: Emitter) -> None:
        body = self._program.body
        read = {load.buffer for load in loads_below(body, self._loads)}
        used = read | {store.buffer for store in stores(body)}
        for buffer in self._arguments:
            if buffer.name not in used:
                out.line(f"(void){self._exprs.names[buffer.name]};")
        for area in self._areas:
            self._area(area, read, out)

    def _area(self, area: _Area, read: Set[str], out: Emitter) -> None:
        """The area's pointer and those of its buffers."""
        if not area.buffers:
            out.line(f"(void){area.pointer};")
            return
        const = "const " if area.readonly else ""
        out.line(f"if (!{area.pointer})")
        out.line("    return 1;")
        address = f"((__UINTPTR_TYPE__){area.pointer} + {ALIGNMENT - 1})"
        start = f"({const}char *)({address} & -(__UINTPTR_TYPE__){ALIGNMENT})"
        out.line(f"{const}char *{area.base} = {start};")
        for name, offset in area.offsets().items():
            kind = f"{const}{C.type(self._exprs.buffers[name].dtype)}"
            out.line(f"{kind} *{self._exprs.names[name]} = ({kind} *)({area.base} + {offset});")
            if name not in read:
                out.line(f"(void){self._exprs.names[name]};")

    def _parameters(self) -> str:
        """Without `restrict`, though nothing overlaps: fuzzing found gcc 12 to miscompile loops
        over such pointers (-fno-ivopts and -fno-tree-pta cured it), and no kernel of the demo
        gained."""
        parts = [
            f"{'' if b.name in self._writes else 'const '}{C.type(b.dtype)} "
            f"*{self._exprs.names[b.name]}"
            for b in self._arguments
        ]
        return ", ".join([*parts, *(area.parameter for area in self._areas)])


def _with_types(body: str, name: str, types: Sequence[str]) -> str:
    """`body` with short names, inside the function only, for the vector types it uses."""
    head, rest = body.split("\n", 1)
    return "\n".join([head, *(f"    typedef {name}_{t} {t};" for t in types), rest])
