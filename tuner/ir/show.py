"""The printer: programs as text, in the syntax that tuner.frontends.text reads.

parse(show(p)) == p for every program that the parser can give and for every scheduled one; nodes
that exist only after lowering are written as calls (ramp, broadcast, reduce_add).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tuner.dtypes import BF16, F64, INDEX, DType
from tuner.ir.nodes import (
    Barrier,
    Broadcast,
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    For,
    If,
    Load,
    Program,
    Ramp,
    Reduce,
    Scope,
    Select,
    Shuffle,
    Stmt,
    Store,
    Var,
)
from tuner.ir.ops import OPS
from tuner.ir.visit import Body

#: Binding strength of a conditional expression, of a unary minus and of a name.
_CONDITIONAL, _UNARY, _ATOM = 10, 80, 100


def show(program: Program) -> str:
    """The whole program, ending in a newline."""
    params = ", ".join(f"{b.name}: {show_type(b)}" for b in program.params)
    lines = [f"def {program.name}({params}):"]
    lines += [f"    {_declaration(b)}" for b in program.locals]
    lines += [f"    {line}" for line in _body_lines(program.body)]
    return "\n".join(lines) + "\n"


def show_body(body: Body) -> str:
    """Statements, one a line, without a final newline."""
    return "\n".join(_body_lines(body))


def show_type(buffer: Buffer) -> str:
    """A buffer's type: `f32[4, 8]`, `const[f32[4]]`."""
    text = f"{buffer.dtype}[{', '.join(map(str, buffer.shape))}]"
    return f"const[{text}]" if buffer.const else text


def _declaration(buffer: Buffer) -> str:
    scope = f', "{buffer.scope}"' if buffer.scope in (Scope.LOCAL, Scope.SHARED) else ""
    return f"{buffer.name} = buffer({show_type(buffer)}{scope})"


def _body_lines(body: Body) -> Iterator[str]:
    for stmt in body:
        yield from _stmt_lines(stmt)


def _stmt_lines(stmt: Stmt) -> Iterator[str]:
    match stmt:
        case For(kind=kind):
            word, axis = ("bound", f', "{kind}"') if kind.is_bound else (kind, "")
            notes = f", notes={stmt.notes!r}" if stmt.notes else ""
            yield f"for {stmt.var} in {word}({stmt.extent}{axis}{notes}):"
        case If():
            yield f"if {show_expr(stmt.cond)}:"
        case Store():
            yield _store(stmt)
            return
        case Barrier():
            yield "barrier()"
            return
    for line in _body_lines(stmt.body):
        yield f"    {line}"


def _store(stmt: Store) -> str:
    place = show_access(stmt.buffer, stmt.indices)
    # The buffer's own type is what a bare literal takes, and verify holds the value to it.
    value = show_expr(stmt.value, stmt.value.dtype)
    match stmt.reduce:
        case None:
            return f"{place} = {value}"
        case "add" | "mul":
            return f"{place} {OPS[stmt.reduce].symbol}= {value}"
    return f"{place} = {stmt.reduce}({place}, {value})"


def show_access(buffer: str, indices: tuple[Expr, ...]) -> str:
    """An access: `x[i, j + 1]`."""
    return f"{buffer}[{', '.join(show_expr(i, INDEX) for i in indices)}]"


def show_expr(expr: Expr, want: DType | None = None) -> str:
    """An expression; `want` is the type that a bare literal would be read as there."""
    return _expr(expr, want)[0]


def _wrapped(expr: Expr, want: DType | None, least: int) -> str:
    text, strength = _expr(expr, want)
    return text if strength >= least else f"({text})"


def _expr(expr: Expr, want: DType | None) -> tuple[str, int]:
    """The text and its binding strength."""
    match expr:
        case Const():
            return _literal(expr, want)
        case Var(name):
            return name, _ATOM
        case Load():
            return show_access(expr.buffer, expr.indices), _ATOM
        case Call():
            return _call(expr, want)
        case Select():
            return _select(expr, want)
        case Cast():
            return f"{expr.dtype}({_cast_operand(expr)})", _ATOM
        case Ramp():
            return f"ramp({show_expr(expr.base)}, {expr.stride}, {expr.lanes})", _ATOM
        case Broadcast():
            return f"broadcast({show_expr(expr.arg, want)}, {expr.lanes})", _ATOM
        case Reduce():
            return f"reduce_{expr.op}({show_expr(expr.arg, want)})", _ATOM
        case Shuffle(first, second, picks):
            sides = f"{show_expr(first, want)}, {show_expr(second, want)}"
            return f"shuffle({sides}, {picks})", _ATOM


def _cast_operand(expr: Cast) -> str:
    # `f64(0.5)` is read as a literal of type f64: what is weak inside a cast names its own type.
    return show_expr(expr.arg, None if is_strong(expr.arg) else expr.dtype)


def _literal(expr: Const, want: DType | None) -> tuple[str, int]:
    value, dtype = expr.value, expr.dtype
    if isinstance(value, bool):
        return str(value), _ATOM
    text = literal_text(value, dtype)
    natural = INDEX if dtype.is_integer else F64
    if dtype != (want or natural):
        return f"{dtype}({text})", _ATOM
    return text, _UNARY if text.startswith("-") else _ATOM


def literal_text(value: int | float, dtype: DType) -> str:
    """The shortest literal that reads back as `value` in `dtype`."""
    if dtype.is_integer:
        return str(int(value))
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    exact = float(value)
    return repr(exact) if dtype in (F64, BF16) else _shortest(exact, dtype)


def _shortest(value: float, dtype: DType) -> str:
    with np.errstate(over="ignore"):
        rounded = dtype.numpy.type(value)
    text = str(rounded)
    return text if float(text) == value or float(rounded) == value else repr(value)


def _call(expr: Call, want: DType | None) -> tuple[str, int]:
    info = OPS[expr.op]
    inner = _operand_type(expr.args, None if info.result == "bool" else want)
    if not info.symbol:
        name, args = _function(expr)
        return f"{name}({', '.join(show_expr(a, inner) for a in args)})", _ATOM
    level = info.precedence
    if info.arity == 1:
        space = " " if info.symbol.isalpha() else ""
        return f"{info.symbol}{space}{_wrapped(expr.args[0], inner, level)}", level
    # Comparisons chain in Python, all others are left-associative.
    left_level = level + 1 if info.result == "bool" and not info.symbol.isalpha() else level
    left = _wrapped(expr.args[0], inner, left_level)
    return f"{left} {info.symbol} {_wrapped(expr.args[1], inner, level + 1)}", level


def _function(expr: Call) -> tuple[str, tuple[Expr, ...]]:
    """Name and operands; nested min, max and clamps are written as the one call they mean."""
    args = expr.args
    while expr.op in ("min", "max") and isinstance(args[0], Call) and args[0].op == expr.op:
        args = (*args[0].args, *args[1:])
    match args:
        case (Call(op="max", args=(value, low)), high) if expr.op == "min":
            return "clamp", (value, low, high)
    return expr.op, args


def _select(expr: Select, want: DType | None) -> tuple[str, int]:
    inner = _operand_type((expr.then, expr.other), want)
    then = _wrapped(expr.then, inner, _CONDITIONAL + 1)
    cond = _wrapped(expr.cond, None, _CONDITIONAL + 1)
    return f"{then} if {cond} else {_wrapped(expr.other, inner, _CONDITIONAL)}", _CONDITIONAL


def _operand_type(args: tuple[Expr, ...], want: DType | None) -> DType | None:
    """The type that the parser gives to bare literals among `args`."""
    strong = [a.dtype for a in args if is_strong(a)]
    return strong[0] if strong else want


def is_strong(expr: Expr) -> bool:
    """Whether the parser knows the type of `expr` without its surroundings."""
    match expr:
        case Const(value=value):
            return isinstance(value, bool)
        case Call(op=op, args=args):
            return OPS[op].result == "bool" or any(is_strong(a) for a in args)
        case Select(_, then, other):
            return is_strong(then) or is_strong(other)
    return True
