"""Guards and literals that the loops' extents decide are folded."""

from __future__ import annotations

from dataclasses import replace

from tuner.dtypes import BOOL
from tuner.ir.affine import Ranges, all_of, conjuncts, is_index_comparison, simplify_cond
from tuner.ir.nodes import (
    TRUE,
    Call,
    Cast,
    Const,
    Expr,
    For,
    If,
    Load,
    Program,
    Ramp,
    Select,
    Stmt,
    Store,
    Var,
)
from tuner.ir.visit import Body, expr_children, is_const, same_or_new, with_body, with_children
from tuner.lower.exprs import computes_from_ramp, lane, lanes
from tuner.target import Target

FALSE = Const(False, BOOL)


def simplify(program: Program, target: Target) -> Program:
    """Decided guards and selections disappear, literals take the type that they are cast to, and
    a literal operand of min or max stands first (it is no NaN, so the test for one folds away)."""
    del target
    return replace(program, body=_in_body(program.body, {}))


def _in_body(body: Body, ranges: Ranges) -> Body:
    out: list[Stmt] = []
    for stmt in body:
        match stmt:
            case For():
                inner = _in_body(stmt.body, {**ranges, stmt.var: stmt.extent})
                out.extend((with_body(stmt, inner),) if inner else ())
            case If():
                cond, inner = simplify_cond(stmt.cond, ranges), _in_body(stmt.body, ranges)
                if is_const(cond, True):
                    out.extend(inner)
                elif not is_const(cond, False) and inner:
                    out.append(If(cond, inner))
            case Store():
                value = _folded(stmt.value, ranges)
                out.append(stmt if value is stmt.value else replace(stmt, value=value))
    return same_or_new(body, tuple(out))


def _folded(expr: Expr, ranges: Ranges) -> Expr:
    """`expr` folded bottom-up; subscripts are in normal form anyway."""
    if isinstance(expr, Const | Var | Load | Ramp):
        return expr
    old = expr_children(expr)
    new = tuple([_folded(child, ranges) for child in old])
    if any(a is not b for a, b in zip(old, new, strict=True)):
        expr = with_children(expr, new)
    match expr:
        case Select(cond, then, other):
            cond = _decided(cond, ranges)
            if isinstance(cond, Const):
                return then if cond.value else other
            return expr if cond is expr.cond else Select(cond, then, other)
        case Cast(dtype, Const(value=value, dtype=old_type)):
            if dtype.is_float and old_type.kind == "int":
                return Const(float(value), dtype)
        case Call("min" | "max", (a, Const() as literal)) if not isinstance(a, Const):
            return Call(expr.op, (literal, a), expr.dtype)
    return expr


def _decided(cond: Expr, ranges: Ranges) -> Expr:
    """`cond`, folded. In lanes it holds everywhere if it holds in the first and the last: its
    comparisons are linear in the lane."""
    width = lanes(cond)
    if width == 1 or not computes_from_ramp(cond):
        return simplify_cond(cond, ranges)
    kept: list[Expr] = []
    for part in conjuncts(cond):
        ends = {simplify_cond(lane(part, i), ranges) for i in (0, width - 1)}
        if ends == {FALSE}:
            return FALSE
        if ends != {TRUE} or not is_index_comparison(part):
            kept.append(part)
    return all_of(kept)
