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
    return replace(program, body=_Cutter(names_of(program)).body(program.body, {}))


class _Cutter:
    """Cuts loops; what it found out about a condition serves every loop around it."""

    def __init__(self, names: Names) -> None:
        self.names = names
        #: by identity; what was looked at is kept so that its identity is not given to another
        self._forms: dict[int, tuple[Expr, Linear | None]] = {}
        self._selected: dict[int, tuple[Expr, list[Expr]]] = {}

    def body(self, body: Body, ranges: Ranges) -> Body:
        out: list[Stmt] = []
        for stmt in body:
            match stmt:
                case For():
                    out.extend(self.loop(stmt, ranges))
                case If():
                    out.extend(self.guard(stmt, ranges))
                case _:
                    out.append(stmt)
        return same_or_new(body, tuple(out))

    def guard(self, stmt: If, ranges: Ranges) -> Body:
        kept = [simplify_cond(c, ranges) for c in conjuncts(stmt.cond)]
        if any(is_const(c, False) for c in kept):
            return ()
        body = self.body(stmt.body, ranges)
        cond = all_of(kept)
        if cond == TRUE or not body:
            return body
        return (If(cond, body),)

    def loop(self, loop: For, ranges: Ranges) -> Body:
        # A bound loop is a whole grid or block: its parts would be others.
        hard = set() if loop.kind.is_bound else self.cuts(loop, _guards(loop.body, {}))
        serial = loop.kind is LoopKind.SERIAL
        soft = self.cuts(loop, self.selections(loop.body, {})) if serial else set()
        cuts = _affordable(loop, hard | soft, MAX_SELECTION_STORES if soft else MAX_STORES)
        cuts = cuts or _affordable(loop, hard, MAX_STORES)
        if not cuts:
            body = self.body(loop.body, {**ranges, loop.var: loop.extent})
            return (with_body(loop, body),) if body else ()
        out: list[Stmt] = []
        for start, stop in zip([0, *cuts], [*cuts, loop.extent], strict=True):
            out.extend(self.loop(_part(loop, start, stop, self.names), ranges))
        return tuple(out)

    def cuts(self, loop: For, conditions: Iterable[tuple[Expr, Ranges]]) -> set[int]:
        """Iterations inside `loop` at which one of the conditions becomes or ceases to be always
        true, or possible. A condition may depend on `loop` and on loops inside it."""
        return {c for c in self.changes(loop, conditions) if 0 < c < loop.extent}

    def changes(self, loop: For, conditions: Iterable[tuple[Expr, Ranges]]) -> Iterator[int]:
        for cond, inner in conditions:
            form = self.form(cond)
            factor = form.coefficient(loop.var) if form else 0
            if form is None or factor == 0:
                continue
            rest = form.plus(Linear({Var(loop.var): factor}), -1)
            if not all(isinstance(a, Var) and a.name in inner for a in rest.terms):
                continue
            for bound in linear_bounds(rest, inner):
                yield bound // -factor + 1 if factor < 0 else -(bound // factor)

    def form(self, cond: Expr) -> Linear | None:
        """The form f where `cond` says f >= 0."""
        if id(cond) not in self._forms:
            self._forms[id(cond)] = (cond, as_nonnegative(cond))
        return self._forms[id(cond)][1]

    def selections(self, body: Body, inner: Ranges) -> Iterator[tuple[Expr, Ranges]]:
        """Every part of the condition of a guarded read below `body`; serial loops are cut for
        them, tiles are not."""
        for stmt in body:
            match stmt:
                case For():
                    yield from self.selections(stmt.body, {**inner, stmt.var: stmt.extent})
                case If():
                    yield from self.selections(stmt.body, inner)
                case Store():
                    yield from ((cond, inner) for cond in self.selected_by(stmt.value))

    def selected_by(self, value: Expr) -> list[Expr]:
        """Every part of the conditions in `value`."""
        if id(value) not in self._selected:
            selects = (node for node in walk_exprs(value) if isinstance(node, Select))
            parts = [cond for select in selects for cond in conjuncts(select.cond)]
            self._selected[id(value)] = (value, parts)
        return self._selected[id(value)][1]


def _part(loop: For, start: int, stop: int, names: Names) -> For:
    """Iterations start … stop - 1 of `loop` as a loop of its own; a single one stays a loop too,
    which keeps its local values apart."""
    var = names.fresh(loop.var) if start else loop.var
    body = copy_body(loop.body, names) if start else loop.body
    if stop - start == 1:
        body = substitute(body, {loop.var: Const(start)})
    elif start:
        body = substitute(body, {loop.var: Call("add", (Var(var), Const(start)), INDEX)})
    return For(var, stop - start, loop.kind, body, loop.notes)


def _affordable(loop: For, cuts: set[int], limit: int) -> list[int]:
    """The cuts in order; none if the copies would hold more than `limit` stores."""
    return sorted(cuts) if cuts and _weight(loop.body) * (len(cuts) + 1) <= limit else []


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
