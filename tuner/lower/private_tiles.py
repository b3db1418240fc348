"""Local buffers of a block are cut into what each of its threads has of them.

    for t in bound(16, "threadIdx.x"):            for t in bound(16, "threadIdx.x"):
        for r in range(4):                            for r in range(4):
            acc[t * 4 + r] = 0.0                          acc[r] = 0.0
    for u in bound(16, "threadIdx.x"):     ->     for u in bound(16, "threadIdx.x"):
        for s in range(4):                            for s in range(4):
            y[u * 4 + s] = acc[u * 4 + s]                 y[u * 4 + s] = acc[s]

A local buffer is each thread's own, so every thread may only use what it has stored itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tuner.errors import CodegenError
from tuner.ir.affine import Linear, Ranges, linear, linear_bounds, simplify_linear
from tuner.ir.nodes import Buffer, Const, Expr, For, Load, Program, Scope, Stmt, Store, Var
from tuner.ir.visit import loops, map_body_exprs, map_expr, rewrite_body, substitute_expr, variables
from tuner.lower.launch import has_threads
from tuner.schedule.access import Access, accesses_of, of_buffer, simplified
from tuner.schedule.loop_kinds import check_loops
from tuner.target import Target


def private_tiles(program: Program, target: Target) -> Program:
    """Cuts each local buffer that several loops over threads use. One that several kernels use
    goes to the workspace, where each finds what another has left. Raises CodegenError where a
    thread would need what another has, ScheduleError where a loop cannot be executed as its kind
    says."""
    if not target.has_blocks:
        return program
    check_loops(program)
    for buffer in program.locals:
        if buffer.scope not in (Scope.LOCAL, Scope.SHARED):
            continue
        users = [s for s in program.body if of_buffer(accesses_of(s), buffer.name)]
        if len(users) > 1:
            program = _with(program, replace(buffer, scope=Scope.GLOBAL))
        elif users and buffer.scope is Scope.LOCAL and has_threads(users[0]):
            program = _cut(program, users[0], buffer)
    return program


@dataclass(frozen=True, slots=True)
class _Tile:
    """What one thread has: elements low + t, where 0 <= t < extents."""

    low: tuple[int, ...]
    extents: tuple[int, ...]


def _cut(program: Program, kernel: Stmt, buffer: Buffer) -> Program:
    found = of_buffer(accesses_of(kernel), buffer.name)
    regions = {tuple(loop.var for loop in _threads(a)) for a in found}
    if len(regions) == 1 and regions != {()}:
        return program
    tile = _tile_of(found)
    if tile is None:
        raise CodegenError(
            f"{buffer.name!r} is local, but what one thread stores there another may read: put it "
            f"into shared memory, or bind the loops that use it alike"
        )
    ranges = {loop.var: loop.extent for loop in loops((kernel,))}
    threads = {loop.var for loop in loops((kernel,)) if loop.kind.is_thread}

    def cut(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        alone = [substitute_expr(i, {name: Const(0) for name in threads}) for i in indices]
        return tuple(
            simplify_linear(linear(i).plus(Linear({}, -low)), ranges).expr()
            for i, low in zip(alone, tile.low, strict=True)
        )

    def in_expr(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.buffer == buffer.name:
            return replace(expr, indices=cut(expr.indices))
        return expr

    def in_stmt(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Store) and stmt.buffer == buffer.name:
            return replace(stmt, indices=cut(stmt.indices))
        return stmt

    body = map_body_exprs(program.body, lambda e: map_expr(e, in_expr))
    cut_program = replace(program, body=rewrite_body(body, in_stmt))
    return _with(cut_program, replace(buffer, shape=tile.extents))


def _with(program: Program, buffer: Buffer) -> Program:
    """`program` with another declaration of a buffer."""
    declared = tuple(buffer if b.name == buffer.name else b for b in program.locals)
    return replace(program, locals=declared)


def _threads(access: Access) -> tuple[For, ...]:
    return tuple(loop for loop in access.loops if loop.kind.is_thread and loop.extent > 1)


def _tile_of(found: Sequence[Access]) -> _Tile | None:
    """The tile, where every subscript is the same multiple of the thread's place plus something
    that stays below it, and every thread of each of the loops over threads has its own."""
    low: list[int] = []
    extents: list[int] = []
    placed: set[str] = set()
    for dimension in range(len(found[0].indices)):
        parts = [_parted(a, dimension) for a in found]
        known = [p for p in parts if p is not None]
        if len(known) < len(parts) or any(p.steps != known[0].steps for p in known):
            return None
        first, last = min(p.low for p in known), max(p.high for p in known)
        reach = last - first
        for axis, step in sorted(known[0].steps.items(), key=lambda item: item[1]):
            if step <= reach or axis in placed:
                return None
            reach += step * (max(p.counts[axis] for p in known) - 1)
            placed.add(axis)
        low.append(first)
        extents.append(last - first + 1)
    if any({str(loop.kind) for loop in _threads(a)} != placed for a in found):
        return None
    return _Tile(tuple(low), tuple(extents))


@dataclass(frozen=True, slots=True)
class _Parted:
    """One subscript: elements for each step along an axis of threads, threads there, the rest."""

    steps: dict[str, int]
    counts: dict[str, int]
    low: int
    high: int


def _parted(access: Access, dimension: int) -> _Parted | None:
    ranges: Ranges = {loop.var: loop.extent for loop in access.loops}
    form = simplified(access, ranges)[dimension]
    steps: dict[str, int] = {}
    counts: dict[str, int] = {}
    rest = form
    for loop in _threads(access):
        if factor := form.coefficient(loop.var):
            steps[str(loop.kind)], counts[str(loop.kind)] = factor, loop.extent
            rest = rest.plus(Linear({Var(loop.var): factor}), -1)
    moving = {loop.var for loop in _threads(access)}
    if any(variables(atom) & moving for atom in rest.terms):
        return None
    return _Parted(steps, counts, *linear_bounds(rest, ranges))
