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
    """`cond`, folded. In lanes, a comparison that moves evenly with the lane holds everywhere if
    it holds in the first and the last; what is the same in all lanes becomes a scalar."""
    width = lanes(cond)
    if width == 1:
        return simplify_cond(cond, ranges)
    kept: list[Expr] = []
    for part in conjuncts(cond):
        ends = [lane(part, 0), lane(part, width - 1)]
        values = {simplify_cond(end, ranges) for end in ends} if _is_even(part, ends[0]) else ()
        if values == {FALSE}:
            return FALSE
        if values != {TRUE}:
            kept.append(part)
    left = all_of(kept)
    first = lane(left, 0)
    return simplify_cond(first, ranges) if first == lane(left, width - 1) else left


def _is_even(cond: Expr, first: Expr) -> bool:
    """Whether `cond`, of which `first` is one lane, compares numbers that each move by the same
    step from lane to lane."""
    match cond:
        case Call("lt" | "le" | "gt" | "ge", (a, b)):
            return is_index_comparison(first) and _moves_evenly(a) and _moves_evenly(b)
    return False


def _moves_evenly(number: Expr) -> bool:
    match number:
        case Call("add" | "sub" | "neg", args):
            return all(map(_moves_evenly, args))
        case Call("mul", (a, b)):
            moving = [x for x in (a, b) if computes_from_ramp(x)]
            return len(moving) < 2 and all(map(_moves_evenly, moving))
    return isinstance(number, Ramp) or not computes_from_ramp(number)
