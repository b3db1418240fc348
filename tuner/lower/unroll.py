"""Unrolled loops are written out; loops of one iteration disappear, unless they are bound.

for r in unrolled(2):                       acc[0] += x[i * 8]
    acc[r] += x[i * 8 + r * 4]       ->     acc[1] += x[i * 8 + 4]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from tuner.dtypes import INDEX
from tuner.ir.affine import Linear, Ranges, linear, simplify_index
from tuner.ir.nodes import Call, Const, Expr, For, If, LoopKind, Program, Stmt, Store, Var
from tuner.ir.visit import (
    Body,
    expr_children,
    same_or_new,
    stores,
    substitute_expr,
    variables,
    with_body,
    with_children,
)
from tuner.lower.exprs import index_only
from tuner.lower.names import Names, copy_body, names_of
from tuner.target import Target

#: stores of one written-out loop; a larger one stays a serial loop
MAX_STORES = 2048

_ARITHMETIC = (Call, Var)
#: an expression or statement as a function of the loop variable's value
_At = Callable[[int], Expr]


def unroll(program: Program, target: Target) -> Program:
    """Copies of the body with the loop variable replaced by its values, inner loops first."""
    del target
    return replace(program, body=_in_body(program.body, {}, names_of(program)))


def _in_body(body: Body, ranges: Ranges, names: Names) -> Body:
    out: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For):
            out.extend(_in_loop(stmt, ranges, names))
        elif isinstance(stmt, If):
            out.append(with_body(stmt, _in_body(stmt.body, ranges, names)))
        else:
            out.append(stmt)
    return same_or_new(body, tuple(out))


def _in_loop(loop: For, ranges: Ranges, names: Names) -> Body:
    inner = {**ranges, loop.var: loop.extent}
    loop = with_body(loop, _in_body(loop.body, inner, names))
    if loop.kind.is_bound or (loop.extent > 1 and loop.kind is not LoopKind.UNROLLED):
        return (loop,)
    if loop.extent * sum(1 for _ in stores(loop.body)) > MAX_STORES:
        return (replace(loop, kind=LoopKind.SERIAL),)
    plain = all(isinstance(s, Store) for s in loop.body)
    templates = _Templates(loop.var, inner)
    first = [templates.stmt(s) for s in loop.body]
    out: list[Stmt] = []
    for value in range(loop.extent):
        if plain or value == 0:
            out.extend(make(value) for make in first)
        else:
            out.extend(templates.stmt(s)(value) for s in copy_body(loop.body, names))
    return tuple(out)


class _Templates:
    """Makes the copies of a loop's body: what does not change with the loop is looked at once."""

    def __init__(self, var: str, ranges: Ranges) -> None:
        self.var, self.ranges = var, ranges
        #: by identity; the expression is kept so that its identity is not given to another
        self._known: dict[int, tuple[Expr, _At | None]] = {}

    def stmt(self, stmt: Stmt) -> Callable[[int], Stmt]:
        match stmt:
            case For():
                inner = _Templates(self.var, {**self.ranges, stmt.var: stmt.extent})
                parts = [inner.stmt(s) for s in stmt.body]
                return lambda v: replace(stmt, body=tuple(part(v) for part in parts))
            case If():
                cond, parts = self.expr(stmt.cond), [self.stmt(s) for s in stmt.body]
                return lambda v: If(cond(v), tuple(part(v) for part in parts))
            case Store():
                index, value = self.expr(stmt.indices[0]), self.expr(stmt.value)
                return lambda v: Store(stmt.buffer, (index(v),), value(v), stmt.reduce)
        return lambda v: stmt

    def expr(self, expr: Expr) -> _At:
        return self.changing(expr) or (lambda v: expr)

    def changing(self, expr: Expr) -> _At | None:
        """None for an expression without the loop variable. Copies share what did not change, so
        an expression met before is not looked at again."""
        if isinstance(expr, Const):
            return None
        if id(expr) not in self._known:
            self._known[id(expr)] = (expr, self._looked_at(expr))
        return self._known[id(expr)][1]

    def _looked_at(self, expr: Expr) -> _At | None:
        if isinstance(expr, _ARITHMETIC) and expr.dtype == INDEX:
            form = linear(expr)
            if all(isinstance(atom, Var) for atom in form.terms):
                return self._linear(form)
            if index_only(expr):
                return self._quasi_affine(expr) if self.var in variables(expr) else None
        children = expr_children(expr)
        parts = [self.changing(c) for c in children]
        if not any(parts):
            return None
        both = list(zip(parts, children, strict=True))

        def at(value: int) -> Expr:
            return with_children(expr, tuple([p(value) if p else c for p, c in both]))

        # a load is what copies share; whoever looks at loads later looks at it once
        return at if isinstance(expr, Call) else cache(at)

    def _linear(self, form: Linear) -> _At | None:
        factor = form.coefficient(self.var)
        if factor == 0:
            return None
        const, rest = form.const, {a: c for a, c in form.terms.items() if a != Var(self.var)}
        if not rest:
            return lambda v: Const(const + factor * v)
        base = Linear(rest).expr()
        return lambda v: _plus(base, const + factor * v)

    def _quasi_affine(self, expr: Expr) -> _At:
        return lambda v: simplify_index(substitute_expr(expr, {self.var: Const(v)}), self.ranges)


def _plus(base: Expr, offset: int) -> Expr:
    """base + offset, in the normal form of tuner.ir.affine."""
    if offset == 0:
        return base
    return Call("add" if offset > 0 else "sub", (base, Const(abs(offset))), INDEX)
