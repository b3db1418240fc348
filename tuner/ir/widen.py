"""The wide form of a program: values in f64, each beside its magnitude.

The magnitude of a value bounds, up to a factor of the unit roundoff, the error that rounding in a
narrower type can have put into it: |a + b| -> |a| + |b|, |a b| -> |a| |b|, and for a function
|f(x)| + |f'(x)| magnitude(x). Where a result can be tiny though no operand is, the type's smallest
normal number is added: what underflows is off by more than its own size tells, and may be
multiplied later. It is an ordinary program: it can be interpreted and lowered.
"""

from __future__ import annotations

import math

from tuner.dtypes import BOOL, F64
from tuner.ir.nodes import (
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    Load,
    Program,
    Scope,
    Select,
    Stmt,
    Store,
)
from tuner.ir.visit import Body, map_expr, outputs, rewrite_body

SUFFIX = "_mag"
#: Operators whose result can be tiny though no operand is.
_UNDERFLOWS = frozenset({"div", "exp", "pow", "sigmoid"})


def widen(program: Program) -> Program:
    """`program` on f64 values with magnitudes.

    Inputs come first, as they are; then each output `y: f64` followed by `y_mag: f64`. Integer
    and bool buffers keep their type and have no magnitude.
    """
    written = outputs(program)
    inputs = tuple(b for b in program.params if b.name not in written)
    results = [w for b in program.params if b.name in written for w in _wide(b)]
    kept = [w for b in program.locals for w in _wide(b)]
    body = rewrite_body(program.body, _Widener({b.name for b in inputs}).stmt)
    return Program(program.name, (*inputs, *results), tuple(kept), body)


def _wide(buffer: Buffer) -> tuple[Buffer, ...]:
    scope = Scope.PARAM if buffer.scope is Scope.PARAM else Scope.GLOBAL
    if not buffer.dtype.is_float:
        return (Buffer(buffer.name, buffer.dtype, buffer.shape, scope),)
    names = (buffer.name, buffer.name + SUFFIX)
    return tuple(Buffer(name, F64, buffer.shape, scope) for name in names)


class _Widener:
    """Guards test loop variables only, and so stay as they are."""

    def __init__(self, inputs: set[str]) -> None:
        self._inputs = inputs

    def stmt(self, stmt: Stmt) -> Stmt | Body:
        """A store of floats becomes two. The magnitude goes first: it may read the old value."""
        if not isinstance(stmt, Store):
            return stmt
        value = Store(stmt.buffer, stmt.indices, self.value(stmt.value), stmt.reduce)
        if not stmt.value.dtype.is_float:
            return value
        reduce = "max" if stmt.reduce == "min" else stmt.reduce
        magnitude = self.magnitude(stmt.value)
        return Store(stmt.buffer + SUFFIX, stmt.indices, magnitude, reduce), value

    def value(self, expr: Expr) -> Expr:
        """`expr` with every float computed in f64."""
        return map_expr(expr, self._value)

    def _value(self, expr: Expr) -> Expr:
        """One node whose operands are wide already."""
        match expr:
            case Const() if expr.dtype.is_float:
                return Const(expr.value, F64)
            case Load() if expr.dtype.is_float:
                if expr.buffer in self._inputs:
                    return expr if expr.dtype == F64 else Cast(F64, expr)
                return Load(expr.buffer, expr.indices, F64)
            case Call() if expr.dtype.is_float:
                return Call(expr.op, expr.args, F64)
            case Cast() if expr.dtype.is_float:
                return expr.arg if expr.arg.dtype == F64 else Cast(F64, expr.arg)
        return expr

    def magnitude(self, expr: Expr) -> Expr:
        """The magnitude of a float expression, in f64."""
        match expr:
            case Const(value=value):
                # An infinite literal is the start of a min or max and carries no error.
                return Const(0.0 if math.isinf(value) else abs(float(value)), F64)
            case Load(buffer=name) if name not in self._inputs:
                return Load(name + SUFFIX, expr.indices, F64)
            case Select(cond, then, other):
                return Select(self.value(cond), self.magnitude(then), self.magnitude(other))
            case Cast(arg=arg) if arg.dtype.is_float:
                return self.magnitude(arg)
            case Call(op=op, args=args):
                values = tuple(self.value(a) for a in args)
                found = _propagated(op, values, tuple(self.magnitude(a) for a in args))
                if op not in _UNDERFLOWS:
                    return found
                return _add(found, Const(expr.dtype.smallest_normal, F64))
        return _abs(self.value(expr))


def _propagated(op: str, x: tuple[Expr, ...], m: tuple[Expr, ...]) -> Expr:
    """The magnitude of `op` of values `x` that have magnitudes `m`."""
    match op:
        case "add" | "sub":
            return _add(m[0], m[1])
        case "mul":
            return _mul(m[0], m[1])
        case "div":
            own = _mul(_div(_abs(x[0]), _mul(x[1], x[1])), m[1])
            return _add(_div(m[0], _abs(x[1])), own)
        case "min" | "max":
            return Call("max", m, F64)
        case "neg" | "abs" | "floor" | "ceil" | "round":
            return m[0]
        case "pow":
            return _power(x, m)
    function = Call(op, x, F64)
    return _add(_abs(function), _mul(_slope(op, x[0], function), m[0]))


def _power(x: tuple[Expr, ...], m: tuple[Expr, ...]) -> Expr:
    base, exponent = x
    by_base = _mul(_abs(exponent), _call("pow", _abs(base), _sub(exponent, _ONE)))
    size = _call("pow", _abs(base), exponent)
    by_exponent = Select(
        Call("ne", (base, _ZERO), BOOL), _mul(size, _abs(_call("log", _abs(base)))), _ZERO
    )
    return _add(_add(size, _mul(by_base, m[0])), _mul(by_exponent, m[1]))


def _slope(op: str, x: Expr, f: Expr) -> Expr:
    """|f'(x)|, where f is the function's value at x."""
    match op:
        case "exp":
            return f
        case "log":
            return _div(_ONE, _abs(x))
        case "sqrt":
            # At zero the slope is infinite and the value exact.
            return Select(Call("gt", (f, _ZERO), BOOL), _div(_HALF, f), _ONE)
        case "rsqrt":
            return _div(_mul(_HALF, f), _abs(x))
        case "tanh":
            return _sub(_ONE, _mul(f, f))
        case "sigmoid":
            return _mul(f, _sub(_ONE, f))
        case "erf":
            two_over_root_pi = Const(2.0 / math.sqrt(math.pi), F64)
            return _mul(two_over_root_pi, _call("exp", Call("neg", (_mul(x, x),), F64)))
        case "sin":
            return _abs(_call("cos", x))
        case "cos":
            return _abs(_call("sin", x))
    raise KeyError(f"the derivative of {op} is not known")


_ZERO, _HALF, _ONE = Const(0.0, F64), Const(0.5, F64), Const(1.0, F64)


def _call(op: str, *args: Expr) -> Expr:
    return Call(op, args, F64)


def _abs(x: Expr) -> Expr:
    return _call("abs", x)


def _add(a: Expr, b: Expr) -> Expr:
    return _call("add", a, b)


def _sub(a: Expr, b: Expr) -> Expr:
    return _call("sub", a, b)


def _mul(a: Expr, b: Expr) -> Expr:
    return _call("mul", a, b)


def _div(a: Expr, b: Expr) -> Expr:
    return _call("div", a, b)
