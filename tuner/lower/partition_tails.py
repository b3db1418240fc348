"""Loops are cut where a guard below them changes its value.

for i0 in range(10):                       for i0 in range(9):
    for i1 in range(14):                       for i1 in range(14):
        if i0 * 14 + i1 < 127:      ->             y[i0 * 14 + i1] = 0.0
            y[i0 * 14 + i1] = 0.0          for i1_1 in range(1):
                                               y[126 + i1_1] = 0.0
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tuner.dtypes import INDEX
from tuner.ir.affine import (
    Linear,
    Ranges,
    all_of,
    as_nonnegative,
    conjuncts,
    linear_bounds,
    simplify_cond,
)
from tuner.ir.nodes import (
    TRUE,
    Call,
    Const,
    Expr,
    For,
    If,
    LoopKind,
    Program,
    Select,
    Stmt,
    Store,
    Var,
)
from tuner.ir.visit import Body, is_const, same_or_new, substitute, walk_exprs, with_body
from tuner.lower.names import Names, copy_body, names_of
from tuner.target import Target

#: stores, unrolled loops written out, up to which a loop is copied for its parts
MAX_STORES = 8192
#: likewise, to rid a serial loop of guarded reads
MAX_SELECTION_STORES = 256


def partition_tails(program: Program, target: Target) -> Program:
    """Main parts carry no guard, tails get exact extents. A guard that does not bound one loop by
    a constant stays where it is."""
    del target
    return replace(program, body=_in_body(program.body, {}, names_of(program)))


def _in_body(body: Body, ranges: Ranges, names: Names) -> Body:
    out: list[Stmt] = []
    for stmt in body:
        match stmt:
            case For():
                out.extend(_in_loop(stmt, ranges, names))
            case If():
                out.extend(_in_guard(stmt, ranges, names))
            case _:
                out.append(stmt)
    return same_or_new(body, tuple(out))


def _in_guard(stmt: If, ranges: Ranges, names: Names) -> Body:
    kept = [simplify_cond(c, ranges) for c in conjuncts(stmt.cond)]
    if any(is_const(c, False) for c in kept):
        return ()
    body = _in_body(stmt.body, ranges, names)
    cond = all_of(kept)
    if cond == TRUE or not body:
        return body
    return (If(cond, body),)


def _in_loop(loop: For, ranges: Ranges, names: Names) -> Body:
    hard = _cuts(loop, _guards(loop.body, {}))
    soft = _cuts(loop, _selections(loop.body, {})) if loop.kind is LoopKind.SERIAL else set()
    cuts = _affordable(loop, hard | soft, MAX_SELECTION_STORES if soft else MAX_STORES)
    cuts = cuts or _affordable(loop, hard, MAX_STORES)
    if not cuts:
        body = _in_body(loop.body, {**ranges, loop.var: loop.extent}, names)
        return (with_body(loop, body),) if body else ()
    out: list[Stmt] = []
    for start, stop in zip([0, *cuts], [*cuts, loop.extent], strict=True):
        out.extend(_in_loop(_part(loop, start, stop, names), ranges, names))
    return tuple(out)


def _part(loop: For, start: int, stop: int, names: Names) -> For:
    """Iterations start … stop - 1 of `loop` as a loop of its own; a single one stays a loop too,
    which keeps its local values apart."""
    var = names.fresh(loop.var) if start else loop.var
    body = copy_body(loop.body, names) if start else loop.body
    value: Expr = Call("add", (Var(var), Const(start)), INDEX) if start else Var(var)
    if stop - start == 1:
        value = Const(start)
    return For(var, stop - start, loop.kind, substitute(body, {loop.var: value}))


def _affordable(loop: For, cuts: set[int], limit: int) -> list[int]:
    """The cuts in order; none if the copies would hold more than `limit` stores."""
    return sorted(cuts) if _weight(loop.body) * (len(cuts) + 1) <= limit else []


def _cuts(loop: For, conditions: Iterable[tuple[Expr, Ranges]]) -> set[int]:
    """Iterations inside `loop` at which one of the conditions becomes or ceases to be always true,
    or possible. A condition may depend on `loop` and on loops inside it."""
    return {c for c in _changes(loop, conditions) if 0 < c < loop.extent}


def _changes(loop: For, conditions: Iterable[tuple[Expr, Ranges]]) -> Iterator[int]:
    for cond, inner in conditions:
        form = as_nonnegative(cond)
        factor = form.coefficient(loop.var) if form else 0
        if form is None or factor == 0:
            continue
        rest = form.plus(Linear({Var(loop.var): factor}), -1)
        if not all(isinstance(a, Var) and a.name in inner for a in rest.terms):
            continue
        for bound in linear_bounds(rest, inner):
            yield bound // -factor + 1 if factor < 0 else -(bound // factor)


def _guards(body: Body, inner: Ranges) -> Iterator[tuple[Expr, Ranges]]:
    """Every part of a guard below `body`, with the extents of the loops passed on the way."""
    for stmt in body:
        match stmt:
            case For():
                yield from _guards(stmt.body, {**inner, stmt.var: stmt.extent})
            case If():
                for cond in conjuncts(stmt.cond):
                    yield cond, inner
                yield from _guards(stmt.body, inner)


def _selections(body: Body, inner: Ranges) -> Iterator[tuple[Expr, Ranges]]:
    """Every part of the condition of a guarded read below `body`; serial loops are cut for them,
    tiles are not."""
    for stmt in body:
        match stmt:
            case For():
                yield from _selections(stmt.body, {**inner, stmt.var: stmt.extent})
            case If():
                yield from _selections(stmt.body, inner)
            case Store():
                for node in walk_exprs(stmt.value):
                    if isinstance(node, Select):
                        yield from ((cond, inner) for cond in conjuncts(node.cond))


def _weight(body: Body) -> int:
    """Stores below `body` with unrolled loops written out."""
    total = 0
    for stmt in body:
        match stmt:
            case Store():
                total += 1
            case For():
                copies = stmt.extent if stmt.kind is LoopKind.UNROLLED else 1
                total += copies * _weight(stmt.body)
            case If():
                total += _weight(stmt.body)
    return total
