"""Loop variables replaced by expressions; only what thereby changes is simplified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tuner.ir.affine import Ranges, is_index_comparison, simplify_cond, simplify_index
from tuner.ir.nodes import TRUE, Call, Const, Expr, For, If, Load, Select, Stmt, Store, Var
from tuner.ir.visit import (
    Body,
    expr_children,
    same_or_new,
    substitute_expr,
    with_body,
    with_children,
)
from tuner.schedule.nest import has_load

Values = Mapping[str, Expr]


def substituted(body: Body, values: Values, ranges: Ranges) -> Body:
    """`body` with loop variables replaced. Subscripts and index conditions that change are
    simplified, arithmetic on data stays as written, a guard that becomes True is taken away.
    `ranges` must know every loop around and below the new expressions."""
    out: list[Stmt] = []
    for stmt in body:
        match stmt:
            case For():
                out.append(with_body(stmt, substituted(stmt.body, values, ranges)))
            case If():
                cond, inner = _value(stmt.cond, values, ranges), stmt.body
                inner = substituted(inner, values, ranges)
                if cond == TRUE:
                    out.extend(inner)
                elif cond is stmt.cond and inner is stmt.body:
                    out.append(stmt)
                else:
                    out.append(If(cond, inner))
            case Store():
                indices = _indices(stmt.indices, values, ranges)
                value = _value(stmt.value, values, ranges)
                if indices is not stmt.indices or value is not stmt.value:
                    stmt = replace(stmt, indices=indices, value=value)
                out.append(stmt)
    return same_or_new(body, tuple(out))


def _indices(indices: tuple[Expr, ...], values: Values, ranges: Ranges) -> tuple[Expr, ...]:
    return same_or_new(indices, tuple(_index(i, values, ranges) for i in indices))


def _index(expr: Expr, values: Values, ranges: Ranges) -> Expr:
    new = substitute_expr(expr, values)
    return expr if new is expr else simplify_index(new, ranges)


def _value(expr: Expr, values: Values, ranges: Ranges) -> Expr:
    """A stored value or a condition."""
    match expr:
        case Var(name):
            return values.get(name, expr)
        case Load():
            indices = _indices(expr.indices, values, ranges)
            return expr if indices is expr.indices else replace(expr, indices=indices)
        case Call() if _is_guard(expr):
            new = substitute_expr(expr, values)
            return expr if new is expr else simplify_cond(new, ranges)
    children = expr_children(expr)
    new_children = same_or_new(children, tuple(_value(c, values, ranges) for c in children))
    if new_children is children:
        return expr
    if isinstance(expr, Select) and isinstance(new_children[0], Const):
        return new_children[1] if new_children[0].value else new_children[2]
    return with_children(expr, new_children)


def _is_guard(cond: Expr) -> bool:
    """Whether `cond` is made of comparisons of subscripts only."""
    match cond:
        case Call(op="and" | "or" | "not", args=args):
            return all(_is_guard(a) for a in args)
        case Const():
            return True
    return is_index_comparison(cond) and not has_load(cond)
