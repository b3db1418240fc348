"""Local tiles whose every element is named by a constant become variables of their own.

    acc[ramp(0, 1, 16)]  += …        acc_1[ramp(0, 1, 16)] += …
    acc[ramp(16, 1, 16)] += …   ->   acc_2[ramp(0, 1, 16)] += …
    y[0] = acc[5]                    y[0] = acc_1[5]

A variable is a LOCAL buffer of as many elements as its widest access has lanes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tuner.ir.nodes import Buffer, Const, Expr, Load, Program, Ramp, Scope, Stmt, Store
from tuner.ir.visit import (
    Body,
    map_body_exprs,
    rewrite_body,
    stmt_exprs,
    walk,
)
from tuner.lower.exprs import Loads, map_loads
from tuner.lower.names import Names, names_of
from tuner.target import Target

#: first element, lanes, and whether it is a store
_Access = tuple[int, int, bool]
#: first element and name of each variable that a promoted buffer falls into
_Variables = list[tuple[int, str]]


def promote_registers(program: Program, target: Target) -> Program:
    """Replaces each promotable LOCAL buffer by its variables."""
    del target
    names = names_of(program)
    local = {b.name for b in program.locals if b.scope is Scope.LOCAL}
    plans: dict[str, _Variables] = {}
    buffers: list[Buffer] = []
    loads = Loads()
    accesses = _accesses(program.body, local, loads)
    for buffer in program.locals:
        clusters = _clusters(accesses[buffer.name]) if buffer.name in local else None
        if not clusters:
            buffers.append(buffer)
            continue
        plans[buffer.name] = _named(buffer, clusters, names)
        for (_, name), (first, stop) in zip(plans[buffer.name], clusters, strict=True):
            buffers.append(replace(buffer, name=name, shape=(stop - first,)))
    body = _redirected(program.body, plans, loads) if plans else program.body
    return replace(program, locals=tuple(buffers), body=body)


def registers(program: Program, loads: Loads) -> dict[str, int]:
    """Name and lanes of every LOCAL buffer that is a variable: a scalar or one vector."""
    local = {b.name: b.size for b in program.locals if b.scope is Scope.LOCAL}
    accesses = _accesses(program.body, set(local), loads)
    found = {n: _clusters(accesses[n]) for n in local}
    return {n: local[n] for n, clusters in found.items() if clusters == [(0, local[n])]}


def _named(buffer: Buffer, clusters: list[tuple[int, int]], names: Names) -> _Variables:
    if len(clusters) == 1:
        return [(clusters[0][0], buffer.name)]
    return [(first, names.fresh(buffer.name)) for first, _ in clusters]


def _accesses(body: Body, local: set[str], loads: Loads) -> dict[str, set[_Access] | None]:
    """What is accessed of each local buffer; None where some subscript is no constant."""
    out: dict[str, set[_Access] | None] = {name: set() for name in local}
    for name, index, stored in _subscripts(body, loads):
        known = out.get(name)
        if known is None:
            continue
        match index:
            case Const(value=value):
                known.add((int(value), 1, stored))
            case Ramp(Const(value=value), 1, lanes):
                known.add((int(value), lanes, stored))
            case _:
                out[name] = None
    return out


def _subscripts(body: Body, loads: Loads) -> Iterator[tuple[str, Expr, bool]]:
    for stmt in walk(body):
        if isinstance(stmt, Store):
            yield stmt.buffer, stmt.indices[0], True
        for expr in stmt_exprs(stmt):
            for load in loads.of(expr):
                yield load.buffer, load.indices[0], False


def _clusters(accesses: set[_Access] | None) -> list[tuple[int, int]] | None:
    """The intervals that the accesses fall into; None unless each is one access, and each vector
    stored is a whole one."""
    if not accesses:
        return None
    out: list[tuple[int, int]] = []
    for first, lanes, stored in sorted(accesses, key=lambda a: (a[0], -a[1])):
        if not out or first >= out[-1][1]:
            out.append((first, first + lanes))
        elif first + lanes > out[-1][1] or (stored and 1 < lanes != _size(out[-1])):
            return None
    return out


def _size(interval: tuple[int, int]) -> int:
    return interval[1] - interval[0]


def _redirected(body: Body, plans: dict[str, _Variables], loads: Loads) -> Body:
    def place(buffer: str, index: Expr) -> tuple[str, Expr]:
        first = int(index.value) if isinstance(index, Const) else _start(index)
        start, name = max(v for v in plans[buffer] if v[0] <= first)
        if isinstance(index, Ramp):
            return name, Ramp(Const(first - start), 1, index.lanes)
        return name, Const(first - start)

    def in_expr(expr: Expr) -> Expr:
        return in_loads(expr) if any(x.buffer in plans for x in loads.of(expr)) else expr

    def in_load(load: Load) -> Expr:
        if load.buffer not in plans:
            return load
        name, index = place(load.buffer, load.indices[0])
        return Load(name, (index,), load.dtype)

    def in_stmt(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Store) and stmt.buffer in plans:
            name, index = place(stmt.buffer, stmt.indices[0])
            return Store(name, (index,), stmt.value, stmt.reduce)
        return stmt

    in_loads = map_loads(in_load)
    return rewrite_body(map_body_exprs(body, in_expr), in_stmt)


def _start(index: Expr) -> int:
    assert isinstance(index, Ramp)
    assert isinstance(index.base, Const)
    return int(index.base.value)
