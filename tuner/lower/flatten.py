"""n-dimensional accesses become offsets from the start of their buffer.

x[i, k + 1] of shape [4, 8]  ->  x[i * 8 + k + 1]        the constant term stands last
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod

from tuner.ir.affine import Linear, Ranges, linear, simplify_linear
from tuner.ir.nodes import Buffer, Expr, For, If, Load, Program, Stmt, Store
from tuner.ir.visit import Body, map_expr, with_body
from tuner.target import Target

_Shapes = Mapping[str, tuple[int, ...]]


def flatten(program: Program, target: Target) -> Program:
    """Every buffer gets one dimension, every access one subscript in normal form."""
    del target
    shapes = {b.name: b.shape for b in program.buffers()}
    return Program(
        program.name,
        tuple(_flat(b) for b in program.params),
        tuple(_flat(b) for b in program.locals),
        _in_body(program.body, {}, shapes),
    )


def _flat(buffer: Buffer) -> Buffer:
    return replace(buffer, shape=(buffer.size,))


def _in_body(body: Body, ranges: Ranges, shapes: _Shapes) -> Body:
    return tuple(_in_stmt(s, ranges, shapes) for s in body)


def _in_stmt(stmt: Stmt, ranges: Ranges, shapes: _Shapes) -> Stmt:
    match stmt:
        case For():
            return with_body(stmt, _in_body(stmt.body, {**ranges, stmt.var: stmt.extent}, shapes))
        case If():
            cond = map_expr(stmt.cond, _in_expr(ranges, shapes))
            return If(cond, _in_body(stmt.body, ranges, shapes))
        case Store():
            step = _in_expr(ranges, shapes)
            indices = tuple(map_expr(i, step) for i in stmt.indices)
            offset = _offset(indices, shapes[stmt.buffer], ranges)
            return replace(stmt, indices=(offset,), value=map_expr(stmt.value, step))
    return stmt


def _in_expr(ranges: Ranges, shapes: _Shapes) -> Callable[[Expr], Expr]:
    def step(expr: Expr) -> Expr:
        if isinstance(expr, Load):
            offset = _offset(expr.indices, shapes[expr.buffer], ranges)
            return Load(expr.buffer, (offset,), expr.dtype)
        return expr

    return step


def _offset(indices: tuple[Expr, ...], shape: tuple[int, ...], ranges: Ranges) -> Expr:
    total = Linear({})
    for position, index in enumerate(indices):
        stride = prod(shape[position + 1 :])
        total = total.plus(simplify_linear(linear(index), ranges), stride)
    return simplify_linear(total, ranges).expr()
