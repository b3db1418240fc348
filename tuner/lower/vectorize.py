"""Vector loops become operations on lanes.

    for j in vectorized(20):          y[ramp(0, 1, 16)] = broadcast(a, 16) * x[ramp(0, 1, 16)]
        y[j] = a * x[j]          ->   y[ramp(16, 1, 4)] = broadcast(a, 4) * x[ramp(16, 1, 4)]

A loop longer than a register is cut into several; its rest into shorter powers of two, then
scalars. A loop that cannot be said in lanes becomes serial.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tuner.dtypes import INDEX
from tuner.ir.nodes import (
    Call,
    Const,
    Expr,
    For,
    LoopKind,
    Program,
    Ramp,
    Reduce,
    Stmt,
    Store,
    Var,
)
from tuner.ir.visit import Body, rewrite_body, stmt_exprs, stores, substitute, walk, walk_exprs
from tuner.lower.exprs import index_only
from tuner.lower.exprs import lanes as lanes_of
from tuner.lower.lanes import body_in_lanes
from tuner.lower.names import Names, copy_body, names_of
from tuner.target import Target

#: registers that one loop is written out to; a longer one becomes a serial loop over registers
MAX_CHUNKS = 16
#: the narrowest vector worth its instructions
MIN_BYTES = 16


def vectorize(program: Program, target: Target) -> Program:
    """Replaces every VECTORIZED loop, the innermost first."""
    names = names_of(program)

    def in_stmt(stmt: Stmt) -> Stmt | Body:
        if isinstance(stmt, For) and stmt.kind is LoopKind.VECTORIZED:
            return _in_loop(stmt, program, target, names)
        return stmt

    return replace(program, body=rewrite_body(program.body, in_stmt))


def _in_loop(loop: For, program: Program, target: Target, names: Names) -> Body:
    serial = (replace(loop, kind=LoopKind.SERIAL),)
    bits = _widest(loop.body, program)
    lanes, shortest = target.lanes(bits), max(2, 8 * MIN_BYTES // bits)
    if lanes < shortest or loop.extent < shortest or _has_lanes(loop.body):
        return serial
    out: list[Stmt] = []
    start = 0
    if loop.extent // lanes > MAX_CHUNKS:
        chunk: Expr = Call("mul", (Var(loop.var), Const(lanes)), INDEX)
        body = body_in_lanes(loop.body, loop.var, chunk, lanes)
        if body is None:
            return serial
        out.append(For(loop.var, loop.extent // lanes, LoopKind.SERIAL, body))
        start = loop.extent // lanes * lanes
    for first, width in _pieces(start, loop.extent, lanes, shortest):
        piece = copy_body(loop.body, names) if out else loop.body
        if width == 1:
            var = names.fresh(loop.var)
            value = Call("add", (Var(var), Const(first)), INDEX)
            rest = substitute(piece, {loop.var: value})
            out.append(For(var, loop.extent - first, LoopKind.UNROLLED, rest))
            break
        body = body_in_lanes(piece, loop.var, Const(first), width)
        if body is None:
            return serial
        out.extend(body)
    return _joined(out)


def _joined(body: list[Stmt]) -> Body:
    """Accumulations of neighbouring parts into one place are joined before lanes are reduced."""
    out: list[Stmt] = []
    for stmt in body:
        match out[-1:], stmt:
            case [Store(a, i, Reduce(op, x), r)], Store(b, j, Reduce(_, y), s) if (a, i, r) == (
                b,
                j,
                s,
            ) and lanes_of(x) == lanes_of(y):
                out[-1] = Store(a, i, Reduce(op, Call(op, (x, y), x.dtype)), r)
            case _:
                out.append(stmt)
    return tuple(out)


def _pieces(start: int, stop: int, lanes: int, shortest: int) -> list[tuple[int, int]]:
    """(first element, lanes) of each part of start … stop - 1, the widest first."""
    out: list[tuple[int, int]] = []
    width = lanes
    while start < stop:
        while width > stop - start:
            width = width // 2 if width > shortest else 1
        out.append((start, width))
        start += width
    return out


def _nodes(body: Body) -> Iterator[Expr]:
    return (n for s in walk(body) for e in stmt_exprs(s) for n in walk_exprs(e))


def _has_lanes(body: Body) -> bool:
    return any(isinstance(n, Ramp) for n in _nodes(body))


def _widest(body: Body, program: Program) -> int:
    """Bits of the widest element that `body` computes with; subscripts do not count."""
    stored = {program.buffer(s.buffer).dtype.bits for s in stores(body)}
    return max(stored | {n.dtype.bits for n in _nodes(body) if not index_only(n)})
