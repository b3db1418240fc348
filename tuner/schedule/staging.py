"""Redirecting the accesses of a region of one buffer to another buffer that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tuner.errors import ScheduleError
from tuner.ir.affine import Linear, Ranges, linear, simplify_linear
from tuner.ir.nodes import Buffer, Expr, Load, Scope, Stmt, Store, Var
from tuner.ir.visit import Body, map_body_exprs, map_expr, rewrite_body
from tuner.schedule.nest import MAX_LOCAL_BYTES, build, serial
from tuner.schedule.region import Region, inside


@dataclass(frozen=True, slots=True)
class Staged:
    """How the elements of a region of the buffer called `old` lie in the buffer `new`."""

    old: str
    new: Buffer
    region: Region
    #: dimension of `old` behind each dimension of `new`
    order: tuple[int, ...]

    def indices(self, offsets: Sequence[Linear]) -> tuple[Expr, ...]:
        """Subscripts of `new` for an offset into the region."""
        return tuple(offsets[d].expr() for d in self.order)


def stage(old: Buffer, region: Region, name: str, order: tuple[int, ...], scope: Scope) -> Staged:
    """A new buffer for `region`, its dimensions permuted by `order`.

    Raises ScheduleError unless `order` is () or a permutation of the dimensions.
    """
    rank = len(old.shape)
    if order and sorted(order) != list(range(rank)):
        raise ScheduleError(
            f"order must be () or a permutation of the {rank} dimensions of {old.name!r}; "
            f"found {order}"
        )
    order = order or tuple(range(rank))
    shape = tuple(region.extents[d] for d in order)
    return Staged(old.name, Buffer(name, old.dtype, shape, scope), region, order)


def shrunk(old: Buffer, region: Region, order: tuple[int, ...]) -> Staged:
    """As `stage`, under the old name: local where it fits, else in the workspace."""
    staged = stage(old, region, old.name, order, Scope.LOCAL)
    if staged.new.bytes <= MAX_LOCAL_BYTES:
        return staged
    return stage(old, region, old.name, order, Scope.GLOBAL)


def redirected(body: Body, staged: Staged, ranges: Ranges, *, stores: bool = True) -> Body:
    """`body` with every read of the old buffer made on the new one, and every store if `stores`."""

    def subscripts(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        forms = [simplify_linear(linear(i), ranges) for i in indices]
        return staged.indices(staged.region.relative(forms, ranges))

    def in_expr(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.buffer == staged.old:
            return Load(staged.new.name, subscripts(expr.indices), expr.dtype)
        return expr

    def in_stmt(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Store) and stmt.buffer == staged.old:
            return replace(stmt, buffer=staged.new.name, indices=subscripts(stmt.indices))
        return stmt

    body = map_body_exprs(body, lambda e: map_expr(e, in_expr))
    return rewrite_body(body, in_stmt) if stores else body


def copied(
    buffer: Buffer, staged: Staged, names: Sequence[str], ranges: Ranges, *, back: bool
) -> Body:
    """A nest over the loops `names` that copies the region from `buffer` to the new one, or
    `back`, guarded where the region may reach out of `buffer`."""
    loops = serial(names, staged.region.extents)
    ranges = {**ranges, **{loop.var: loop.extent for loop in loops}}
    offsets = tuple(Linear({Var(name): 1}) for name in names)
    forms = staged.region.element(offsets, ranges)
    far: tuple[Expr, ...] = tuple(f.expr() for f in forms)
    near, new = staged.indices(offsets), staged.new.name
    if back:
        store = Store(buffer.name, far, Load(new, near, buffer.dtype))
    else:
        store = Store(new, near, Load(buffer.name, far, buffer.dtype))
    return build(loops, inside(forms, buffer.shape, ranges), (store,))
