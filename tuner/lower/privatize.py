"""Each independent use of a local buffer gets a buffer of its own.

    for i in range(9):  acc[..] = 0.0 ; …          for i in range(9):  acc[..] = 0.0 ; …
    for i_1 in range(1): acc[..] = 0.0 ; …    ->   for i_1 in range(1): acc_1[..] = 0.0 ; …

Afterwards every LOCAL buffer may be declared in the innermost loop that holds all its uses: no
value of it outlives an iteration. One for which that cannot be shown goes to the workspace; inside
a parallel loop, where threads would share it, it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace

from tuner.errors import CodegenError
from tuner.ir.nodes import Expr, For, Load, LoopKind, Program, Scope, Stmt, Store
from tuner.ir.visit import (
    Body,
    loops,
    map_body_exprs,
    map_expr,
    rewrite_body,
    same_or_new,
    stores,
    with_body,
)
from tuner.lower.dataflow import Touched, read_before_written
from tuner.lower.exprs import Loads
from tuner.lower.names import Names, names_of
from tuner.target import Target


def privatize(program: Program, target: Target) -> Program:
    """Renames the uses of LOCAL buffers loop by loop, from the outside in."""
    local = {b.name for b in program.locals if b.scope is Scope.LOCAL}
    splitter = _Splitter(names_of(program), [b.name for b in program.locals if b.name in local])
    kept = read_before_written(program.body, local, splitter.touched)
    body = splitter.body(program.body, local - kept)
    workspace = kept | lasting(body, set(splitter.copies) - kept, splitter.touched)
    if target.has_blocks:
        # Each thread has its own, which it keeps from one iteration to the next.
        workspace = set()
    _check_threads(body, workspace)
    buffers = [b for b in program.locals if b.name not in local]
    for name, source in splitter.copies.items():
        scope = Scope.GLOBAL if name in workspace else Scope.LOCAL
        buffers.append(replace(program.buffer(source), name=name, scope=scope))
    used = set().union(*splitter.touched.of_each(body))
    return replace(program, locals=tuple(b for b in buffers if b.name in used), body=body)


class _Splitter:
    """Gives out the copies, and knows of which buffer each is one."""

    def __init__(self, names: Names, local: Iterable[str]) -> None:
        self.names, self.copies = names, {name: name for name in local}
        self.touched = Touched(Loads())

    def body(self, body: Body, local: Set[str]) -> Body:
        """Splits those of `local` whose users in `body` are loops that each define what they
        read."""
        if not local:
            return body
        touched = [names & local for names in self.touched.of_each(body)]
        exposed = [
            read_before_written(s.body, t, self.touched) if isinstance(s, For) and t else t
            for s, t in zip(body, touched, strict=True)
        ]
        splittable = local - set().union(*exposed)
        seen: set[str] = set()
        out: list[Stmt] = []
        for stmt, uses in zip(body, touched, strict=True):
            mine = uses & splittable
            if not isinstance(stmt, For) or not mine:
                out.append(stmt)
                continue
            renamed = {n: self.names.fresh(n) for n in sorted(mine & seen)}
            self.copies.update({new: self.copies[old] for old, new in renamed.items()})
            seen |= mine
            inner = _renamed(stmt.body, renamed)
            below = {renamed.get(n, n) for n in mine}
            out.append(with_body(stmt, self.body(inner, below)))
        return same_or_new(body, tuple(out))


def lasting(body: Body, local: Set[str], touched: Touched) -> set[str]:
    """Those of `local` whose innermost common loop lets a value pass from one iteration to the
    next."""
    out: set[str] = set()
    for name in local:
        inner, enclosing = body, body
        while len(users := [s for s in inner if name in touched.of(s)]) == 1:
            if not isinstance(users[0], For):
                break
            inner = enclosing = users[0].body
        if enclosing is not body and read_before_written(enclosing, {name}, touched):
            out.add(name)
    return out


def _renamed(body: Body, names: Mapping[str, str]) -> Body:
    if not names:
        return body

    def in_expr(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.buffer in names:
            return replace(expr, buffer=names[expr.buffer])
        return expr

    def in_stmt(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Store) and stmt.buffer in names:
            return replace(stmt, buffer=names[stmt.buffer])
        return stmt

    return rewrite_body(map_body_exprs(body, lambda e: map_expr(e, in_expr)), in_stmt)


def _check_threads(body: Body, workspace: Set[str]) -> None:
    """Threads would share in the workspace what each has to itself in a local buffer."""
    for loop in loops(body):
        shared = workspace & {s.buffer for s in stores(loop.body)}
        if loop.kind is LoopKind.PARALLEL and shared:
            raise CodegenError(
                f"local buffers {', '.join(sorted(shared))} cannot be shown to hold no value from "
                f"one iteration of the parallel loop {loop.var} to another"
            )
