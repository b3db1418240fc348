"""transform_layout: an intermediate buffer is laid out otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tuner.errors import ScheduleError
from tuner.ir.affine import Ranges
from tuner.ir.nodes import Buffer, Expr, Load, Program, Stmt, Store
from tuner.ir.visit import map_body_exprs, map_expr, rewrite_body
from tuner.schedule.memory_steps import TransformLayout
from tuner.schedule.nest import extents, find_intermediate, redeclare
from tuner.schedule.pack import MAX_PACKED_BYTES, Axis, parse_layout


def transform_layout(program: Program, step: TransformLayout) -> Program:
    """Lays the elements of the intermediate `buffer` out as `layout` says, wherever it is used.

        h = buffer(f32[4, 8])             h = buffer(f32[2, 4, 4])
        for i, j in grid(4, 8):     ->    for i, j in grid(4, 8):
            h[i, j] = x[i, j]                 h[j // 4, i, j % 4] = x[i, j]

    with layout ("1//4", "0", "1%4"). Each dimension stands in the layout once whole, or once as
    tiles and once as position in a tile. `padded` states the extents to which the dimensions are
    rounded up for it, one per dimension; what it adds is never used.

    Legal for every intermediate buffer where each factor divides its dimension, or the extent that
    `padded` states for it.
    """
    buffer = find_intermediate(program, step.buffer)
    axes = parse_layout(step.layout, len(buffer.shape))
    sizes = _sizes(buffer, axes, step)
    new = replace(buffer, shape=tuple(a.extent(sizes[a.of]) for a in axes))
    if new.bytes > MAX_PACKED_BYTES:
        raise ScheduleError(f"the buffer needs {new.bytes} bytes; at most {MAX_PACKED_BYTES}")
    return redeclare(_laid_out(program, buffer, axes), new)


def _sizes(buffer: Buffer, axes: Sequence[Axis], step: TransformLayout) -> tuple[int, ...]:
    """The extents of the old dimensions, rounded up as stated."""
    sizes = step.padded or buffer.shape
    if len(sizes) != len(buffer.shape) or any(
        new < old for new, old in zip(sizes, buffer.shape, strict=True)
    ):
        raise ScheduleError(
            f"padded must be () or one extent per dimension of {buffer.name!r}, each at least "
            f"that of {buffer.shape}; found {step.padded}"
        )
    for axis in axes:
        size = sizes[axis.of]
        if size % axis.factor:
            raise ScheduleError(
                f"{axis.factor} does not divide {size}, the extent of dimension {axis.of} of "
                f"{buffer.name!r}: state in padded that it is rounded up to "
                f"{-(-size // axis.factor) * axis.factor}"
            )
    return sizes


def _laid_out(program: Program, buffer: Buffer, axes: Sequence[Axis]) -> Program:
    """`program` with every access of `buffer` made in the new layout."""
    ranges: Ranges = extents(program.body)

    def subscripts(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(a.index(indices[a.of], ranges) for a in axes)

    def in_expr(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.buffer == buffer.name:
            return Load(expr.buffer, subscripts(expr.indices), expr.dtype)
        return expr

    def in_stmt(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Store) and stmt.buffer == buffer.name:
            return replace(stmt, indices=subscripts(stmt.indices))
        return stmt

    body = map_body_exprs(program.body, lambda e: map_expr(e, in_expr))
    return replace(program, body=rewrite_body(body, in_stmt))
