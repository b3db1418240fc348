"""Expressions of the C family: IR expression to text with its binding strength."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuner.codegen.dialect import Dialect
from tuner.codegen.helpers import Helper, Helpers, shuffled, vector_type
from tuner.codegen.literals import literal
from tuner.dtypes import BF16, F32, INDEX, DType, promote
from tuner.errors import CodegenError
from tuner.ir.affine import bounds, simplify_cond
from tuner.ir.nodes import (
    Broadcast,
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    Load,
    Ramp,
    Reduce,
    Select,
    Shuffle,
    Var,
)
from tuner.ir.visit import is_const
from tuner.lower.exprs import (
    computes_from_ramp,
    index_only,
    lane,
    lanes,
    mask_bits,
    split_offset,
)

#: Binding strengths of C, higher binds tighter.
PRIMARY, UNARY, PRODUCT, SUM, RELATION, EQUALITY, BITS, AND, OR, CHOICE = range(16, 6, -1)
_INFIX = {
    "add": ("+", SUM), "sub": ("-", SUM), "mul": ("*", PRODUCT), "div": ("/", PRODUCT),
    "lt": ("<", RELATION), "le": ("<=", RELATION), "gt": (">", RELATION), "ge": (">=", RELATION),
    "eq": ("==", EQUALITY), "ne": ("!=", EQUALITY),
}  # fmt: skip
_INDEX_SIGNS = {
    "add": ("+", SUM), "sub": ("-", SUM), "mul": ("*", PRODUCT),
    "floordiv": ("/", PRODUCT), "mod": ("%", PRODUCT),
}  # fmt: skip
_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
_Text = tuple[str, int]
#: a buffer and the number of what loops move in a subscript
Place = tuple[str, int]


@dataclass(slots=True)
class ExprPrinter:
    """Prints the expressions of one kernel and collects the helpers and types they need."""

    dialect: Dialect
    helpers: Helpers
    buffers: Mapping[str, Buffer]
    #: lanes of the buffers that are variables
    registers: Mapping[str, int]
    #: C identifiers by name in the program
    names: Mapping[str, str]
    #: buffers that the kernel does not write
    readonly: frozenset[str]
    #: pointers into buffers and their offsets, by what moves in the subscripts that they serve
    pointers: dict[Place, tuple[str, int]] = field(default_factory=dict)
    _equal: dict[Expr, int] = field(default_factory=dict)
    #: by identity; the expression is kept so that its identity is not given to another
    _numbers: dict[int, tuple[Expr, int]] = field(default_factory=dict)
    #: extents of the loops around the place that is being printed
    ranges: dict[str, int] = field(default_factory=dict)
    #: vector types named in the kernel's body
    types: set[str] = field(default_factory=set)

    def text(self, expr: Expr, least: int = 0) -> str:
        """`expr`, in parentheses if it binds weaker than `least`."""
        text, strength = self._expr(expr)
        return text if strength >= least else f"({text})"

    def type(self, dtype: DType, width: int) -> str:
        """The name of a type inside the kernel's body."""
        if width == 1:
            return self.dialect.type(dtype)
        self.helpers.vector(dtype, width)
        self.types.add(vector_type(dtype, width))
        return vector_type(dtype, width)

    def number(self, moving: Expr) -> int:
        """Equal for equal expressions. Copies share theirs, so that few have to be hashed."""
        if id(moving) not in self._numbers:
            number = self._equal.setdefault(moving, len(self._equal))
            self._numbers[id(moving)] = (moving, number)
        return self._numbers[id(moving)][1]

    def element(self, buffer: str, index: Expr) -> str:
        """One element as an lvalue."""
        if self.registers.get(buffer) == 1:
            return self.names[buffer]
        moving, offset = split_offset(index)
        if moving and (pointer := self.pointers.get((buffer, self.number(moving)))):
            return f"{pointer[0]}[{offset - pointer[1]}]"
        return f"{self.names[buffer]}[{self.text(index)}]"

    def vector_at(self, buffer: str, index: Ramp) -> str:
        """`index.lanes` consecutive elements as an lvalue: a variable, or memory."""
        dtype = self.buffers[buffer].dtype
        if buffer in self.registers:
            return self.names[buffer]
        self.helpers.vector(dtype, index.lanes)
        kind = vector_type(dtype, index.lanes)
        self.types.add(f"{kind}u")
        const = "const " if buffer in self.readonly else ""
        return f"*({const}{kind}u *)&{self.element(buffer, index.base)}"

    def call(self, op: str, dtype: DType, width: int, args: tuple[Expr, ...]) -> _Text:
        """A helper function of operands converted to `dtype`."""
        texts = (self.converted(a, dtype) for a in args)
        return f"{self.helpers.call(Helper(op, dtype, width))}({', '.join(texts)})", PRIMARY

    def converted(self, expr: Expr, dtype: DType, least: int = 0) -> str:
        """`expr` as a value of `dtype`."""
        return self.text(expr if expr.dtype == dtype else Cast(dtype, expr), least)

    def _expr(self, expr: Expr) -> _Text:
        match expr:
            case Const():
                text = literal(expr, self.dialect)
                return text, UNARY if text.startswith("-") else PRIMARY
            case Var(name):
                return self.names[name], PRIMARY
            case Load():
                return self._load(expr)
            case Broadcast():
                return self._broadcast(expr)
            case Ramp():
                return self._by_lanes(expr)
            case Reduce(op, arg):
                helper = Helper(f"reduce_{op}", arg.dtype, lanes(arg))
                return f"{self.helpers.call(helper)}({self.text(arg)})", PRIMARY
            case Select():
                return self._select(expr)
            case Cast():
                return self._cast(expr)
            case Shuffle(first, second, picks):
                return shuffled(self.text(first), self.text(second), picks), PRIMARY
            case Call():
                if expr.dtype == INDEX and index_only(expr):
                    return self._index(expr)
                return self._vector_call(expr) if lanes(expr) > 1 else self._scalar_call(expr)
        raise CodegenError(f"{self.dialect.name} cannot say {expr} here")

    def _load(self, expr: Load) -> _Text:
        index = expr.indices[0]
        width = lanes(index)
        if width == 1:
            return self.element(expr.buffer, index), PRIMARY
        if not isinstance(index, Ramp) or index.stride != 1:
            return self._by_lanes(expr)
        if width == self.registers.get(expr.buffer, width):
            return self.vector_at(expr.buffer, index), UNARY
        assert isinstance(index.base, Const)
        first, name = int(index.base.value), self.names[expr.buffer]
        return shuffled(name, name, range(first, first + width)), PRIMARY

    def _by_lanes(self, expr: Expr) -> _Text:
        """A vector put together from its lanes."""
        parts = (self.text(self._decided(lane(expr, i))) for i in range(lanes(expr)))
        return f"({self.type(expr.dtype, lanes(expr))}){{{', '.join(parts)}}}", PRIMARY

    def _decided(self, expr: Expr) -> Expr:
        """The side of a selection that is taken, where the loops' extents tell."""
        if isinstance(expr, Select):
            cond = simplify_cond(expr.cond, self.ranges)
            if isinstance(cond, Const):
                return expr.then if cond.value else expr.other
            return Select(cond, expr.then, expr.other)
        return expr

    def _broadcast(self, expr: Broadcast) -> _Text:
        """x - 0 is x for every x, so compilers drop the subtraction."""
        kind = self.type(expr.dtype, expr.lanes)
        if is_const(expr.arg, 0):
            return f"({kind}){{}}", PRIMARY
        return f"{self.text(expr.arg, SUM)} - ({kind}){{}}", SUM

    def _select(self, expr: Select) -> _Text:
        width = lanes(expr)
        if width > 1 and lanes(expr.cond) > 1:
            if computes_from_ramp(expr.cond) or mask_bits(expr.cond) != expr.dtype.bits:
                return self._by_lanes(expr)
            args = ", ".join(self.text(e) for e in (expr.cond, expr.then, expr.other))
            return f"{self.helpers.call(Helper('select', expr.dtype, width))}({args})", PRIMARY
        cast = f"({self.type(expr.dtype, width)})" if width > 1 else ""
        least = UNARY if cast else OR
        then, other = self.text(expr.then, least), self.converted(expr.other, expr.dtype, least)
        return f"{self.text(expr.cond, OR)} ? {cast}{then} : {cast}{other}", CHOICE

    def _cast(self, expr: Cast) -> _Text:
        source, dtype, width = expr.arg.dtype, expr.dtype, lanes(expr)
        if source == dtype:
            return self._expr(expr.arg)
        if computes_from_ramp(expr.arg):
            return self._by_lanes(expr)
        if BF16 in (source, dtype):
            if F32 not in (source, dtype):
                return self._cast(Cast(dtype, Cast(F32, expr.arg)))
            name = self.helpers.call(Helper("to", source, width, dtype))
            return f"{name}({self.text(expr.arg)})", PRIMARY
        if source.is_float and dtype.is_integer:
            name = self.helpers.call(Helper("to", source, width, dtype))
            return f"{name}({self.text(expr.arg)})", PRIMARY
        if width > 1:
            kind = self.type(dtype, width)
            return f"__builtin_convertvector({self.text(expr.arg)}, {kind})", PRIMARY
        return f"({self.dialect.type(dtype)}){self.text(expr.arg, UNARY)}", UNARY

    def _scalar_call(self, expr: Call) -> _Text:
        op, args, dtype = expr.op, expr.args, expr.dtype
        if op in _COMPARISONS:
            shared = promote(args[0].dtype, args[1].dtype)
            a, b = (self.converted(x, shared, SUM) for x in args)
            return f"{a} {_INFIX[op][0]} {b}", _INFIX[op][1]
        if op in ("and", "or"):
            sign, strength, least = ("&&", AND, BITS) if op == "and" else ("||", OR, BITS)
            return f" {sign} ".join(self.text(a, least) for a in args), strength
        if op == "not":
            return f"!{self.text(args[0], UNARY)}", UNARY
        if op == "neg" and dtype.is_float:
            return f"-{self.converted(args[0], dtype, PRIMARY)}", UNARY
        if op in ("add", "sub", "mul", "neg") and dtype.is_integer:
            return self._wrapping(expr, 1)
        if op in _INFIX:
            return self._infix(op, *(self._operand(a, dtype) for a in args))
        return self.call(op, dtype, 1, args)

    def _index(self, expr: Expr) -> _Text:
        """Arithmetic on loop variables: it stays far from overflow."""
        if not isinstance(expr, Call):
            return self._expr(expr)
        op, args = expr.op, expr.args
        if op not in _INDEX_SIGNS or (
            op in ("floordiv", "mod") and bounds(args[0], self.ranges)[0] < 0
        ):
            return self.call(op, INDEX, 1, args)
        sign, strength = _INDEX_SIGNS[op]
        (a, left), (b, right) = self._index(args[0]), self._index(args[1])
        a = a if left >= strength else f"({a})"
        b = b if right > strength else f"({b})"
        return f"{a} {sign} {b}", strength

    def _vector_call(self, expr: Call) -> _Text:
        op, args, dtype, width = expr.op, expr.args, expr.dtype, lanes(expr)
        if op in ("and", "or"):
            return f" {'&' if op == 'and' else '|'} ".join(self.text(a, UNARY) for a in args), BITS
        if op == "not":
            return f"~{self.text(args[0], UNARY)}", UNARY
        if op in _COMPARISONS:
            shared = promote(args[0].dtype, args[1].dtype)
            return self._infix(op, *self._vector_operands(args, shared, width))
        if op == "neg" and dtype.is_float:
            return f"-{self.converted(args[0], dtype, PRIMARY)}", UNARY
        if op in ("add", "sub", "mul", "neg") and dtype.is_integer:
            return self._wrapping(expr, width)
        if op in _INFIX:
            return self._infix(op, *self._vector_operands(args, dtype, width))
        return self.call(op, dtype, width, args)

    def _vector_operands(self, args: tuple[Expr, ...], dtype: DType, width: int) -> list[Expr]:
        """Operands of an infix operator, at least one of them a vector: two scalars would give a
        scalar, and their comparison no mask."""
        first, *rest = (self._operand(a, dtype) for a in args)
        if all(lanes(a) == 1 for a in (first, *rest)):
            first = Broadcast(first, width)
        return [first, *rest]

    def _operand(self, expr: Expr, dtype: DType) -> Expr:
        """An operand of an infix operator; a float scalar beside a vector stays a scalar."""
        if isinstance(expr, Broadcast) and dtype.is_float:
            expr = expr.arg
        return expr if expr.dtype == dtype else Cast(dtype, expr)

    def _infix(self, op: str, a: Expr, b: Expr) -> _Text:
        sign, strength = _INFIX[op]
        if op in _COMPARISONS:
            return f"{self.text(a, SUM)} {sign} {self.text(b, SUM)}", strength
        return f"{self.text(a, strength)} {sign} {self.text(b, strength + 1)}", strength

    def _wrapping(self, expr: Call, width: int) -> _Text:
        """Integer arithmetic that wraps, as C's signed arithmetic does not."""
        kind, wide = self.type(expr.dtype, width), self.helpers.unsigned(expr.dtype, width)
        texts = [f"({wide}){self.converted(a, expr.dtype, UNARY)}" for a in expr.args]
        if expr.op == "neg":
            return f"({kind})(-{texts[0]})", UNARY
        return f"({kind})({f' {_INFIX[expr.op][0]} '.join(texts)})", UNARY
