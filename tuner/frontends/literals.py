"""Literals: folding of constant expressions, and their conversion to an element type."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable

import numpy as np

from tuner.dtypes import BF16, F32, DType
from tuner.errors import LimitRefused, SyntaxRefused
from tuner.frontends.limits import MAX_EXTENT
from tuner.ir.numerics import cast

Number = int | float
_FOLDS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip


def place(node: ast.AST) -> tuple[int, int]:
    """Line and column of `node`, both from 1."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1


def fold(node: ast.expr) -> Number | None:
    """The number that `node` denotes if it holds nothing but literals, else None.

    Raises LimitRefused for integers beyond 64 bits, SyntaxRefused for a division by zero.
    """
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            if value == math.inf:
                raise SyntaxRefused("the literal is too large; write inf", *place(node))
            return _checked(value, node)
        case ast.Name(id="inf"):
            return math.inf
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = fold(operand)
            return None if inner is None else _checked(-inner, node)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return fold(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _FOLDS:
            a, b = fold(left), fold(right)
            if a is None or b is None:
                return None
            return _checked(_apply(op, a, b, node), node)
    return None


def _apply(op: ast.operator, a: Number, b: Number, node: ast.expr) -> Number:
    try:
        value = _FOLDS[type(op)](a, b)
    except ZeroDivisionError:
        raise SyntaxRefused("a division of literals by zero", *place(node)) from None
    if math.isnan(value) or (math.isinf(value) and not (math.isinf(a) or math.isinf(b))):
        raise SyntaxRefused("this expression of literals is not a number", *place(node))
    return value


def _checked(value: Number, node: ast.expr) -> Number:
    # The positive limit stays for -9223372036854775808, which is read as a negated literal.
    if isinstance(value, int) and not -(2**63) <= value <= 2**63:
        raise LimitRefused("an integer literal beyond 64 bits", *place(node))
    return value


def convert(value: Number, dtype: DType, node: ast.expr) -> Number:
    """`value` as `dtype` holds it. Raises SyntaxRefused where the type cannot say it."""
    if dtype.is_integer:
        return _to_integer(value, dtype, node)
    if not dtype.is_float:
        raise SyntaxRefused("a number where a bool is expected; write a comparison", *place(node))
    exact = float(value)
    rounded = float(_round(exact, dtype))
    if math.isinf(rounded) and not math.isinf(exact):
        raise SyntaxRefused(f"{value} is too large for {dtype}; write inf", *place(node))
    return rounded


def _to_integer(value: Number, dtype: DType, node: ast.expr) -> int:
    if isinstance(value, float):
        raise SyntaxRefused(
            f"{value} is a float literal where {dtype} is expected; "
            "write an integer, or cast the other operand with f32(...)", *place(node)
        )  # fmt: skip
    limits = np.iinfo(dtype.numpy)
    if not limits.min <= value <= limits.max:
        raise SyntaxRefused(
            f"{value} does not fit {dtype} ({limits.min} to {limits.max})", *place(node)
        )
    return value


def _round(value: float, dtype: DType) -> np.floating:
    with np.errstate(over="ignore"):
        rounded: np.floating = dtype.held.type(value)
    if dtype == BF16:
        rounded = cast(rounded, F32, BF16)
    return rounded


def extent(node: ast.expr, what: str) -> int:
    """A literal positive integer. Raises SyntaxRefused or LimitRefused naming `what`."""
    value = fold(node)
    if isinstance(value, int) and value >= 1:
        if value > MAX_EXTENT:
            raise LimitRefused(f"{what} is {value}; the limit is {MAX_EXTENT}", *place(node))
        return value
    found = f"found {value}" if value is not None else f"found {ast.unparse(node)}"
    raise SyntaxRefused(
        f"{what} must be a positive integer literal, shapes being static; {found}", *place(node)
    )
