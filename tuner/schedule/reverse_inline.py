"""reverse_inline: an element-wise consumer is computed where its input was."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tuner.errors import ScheduleError
from tuner.ir.affine import Linear, Ranges, linear, simplify_cond
from tuner.ir.bounds import Prover
from tuner.ir.nodes import Expr, For, If, Load, LoopKind, Program, Store, Var
from tuner.ir.show import show_expr
from tuner.ir.visit import Body, map_expr, substitute_expr, with_body
from tuner.schedule.access import Access, accesses, of_buffer
from tuner.schedule.inline import holds
from tuner.schedule.inverse import iteration_of
from tuner.schedule.legality import conflicts, self_conflicts
from tuner.schedule.memory_steps import ReverseInline
from tuner.schedule.motion import common_depth, meet, meet_apart, meet_in_order
from tuner.schedule.nest import extents, find_intermediate, guarded
from tuner.schedule.region import in_bounds
from tuner.schedule.substitution import substituted
from tuner.schedule.witness import common_loops


def reverse_inline(program: Program, step: ReverseInline) -> Program:
    """Computes the one consumer of `buffer` where the buffer is computed; the buffer is no more.

        for i in range(8):
            h[i] = x[i] * 2.0    ->    for i in range(8):
        for j in range(8):                 y[i] = x[i] * 2.0 + 1.0
            y[j] = h[j] + 1.0

    Legal where one assignment makes all writes of the intermediate buffer, and one later statement
    all reads, of one element; the subscripts of either tell its iteration (loops, or loops as the
    digits of a number), so that each element is made once and used once, and what is read is
    provably made, guards considered. Nothing from the one to the other touches what the consumer
    writes or writes what it reads besides, nor do two iterations of the consumer.
    """
    buffer = find_intermediate(program, step.buffer)
    found = accesses(program.body)
    pair = _pair(program, of_buffer(found, buffer.name))
    ranges = extents(program.body)
    _check_made(pair, buffer.shape, ranges)
    _check_free(pair, [a for a in found if a.buffer != buffer.name], ranges)
    new = _fused(pair, ranges)
    shapes = {b.name: b.shape for b in program.buffers()}
    for access in accesses(new):
        there = replace(access, guards=(*pair.write.guards, *access.guards))
        if not in_bounds(there, shapes[there.buffer], ranges, ()):
            raise ScheduleError(f"{access.text()} cannot be proven in bounds where it would be")
    body = _replaced(program.body, pair.read.position, ())
    body = _replaced(body, pair.write.position, new)
    others = tuple(b for b in program.locals if b.name != buffer.name)
    return replace(program, body=body, locals=others)


@dataclass(frozen=True, slots=True)
class _Pair:
    """The statement that makes the buffer and the one that uses it."""

    source: Store
    write: Access
    consumer: Store
    read: Access

    def own(self, access: Access) -> dict[str, int]:
        """The loops around `access` that are not around the other statement, with extents."""
        shared = {loop.var for loop in common_loops(self.write, self.read)}
        return {loop.var: loop.extent for loop in access.loops if loop.var not in shared}


def _pair(program: Program, used: tuple[Access, ...]) -> _Pair:
    writes = [a for a in used if a.writes]
    reads = [a for a in used if not a.writes]
    if len(writes) != 1 or writes[0].accumulates:
        kinds = ", ".join(f"{a.text()} ({a.mode})" for a in writes)
        raise ScheduleError(
            f"expected one assignment that computes the buffer; found {kinds or 'none'}: use "
            f"reverse_compute_at for what takes several statements"
        )
    if len({(a.position, a.indices) for a in reads}) != 1:
        raise ScheduleError(
            f"expected one statement that reads one element of {writes[0].buffer!r}; found "
            f"{', '.join(a.text() for a in reads) or 'none'}"
        )
    source = _store(program.body, writes[0].position)
    return _Pair(source, writes[0], _store(program.body, reads[0].position), reads[0])


def _store(body: Body, position: tuple[int, ...]) -> Store:
    stmt = body[position[0]]
    if isinstance(stmt, Store):
        return stmt
    assert isinstance(stmt, For | If)
    return _store(stmt.body, position[1:])


def _check_made(pair: _Pair, shape: tuple[int, ...], ranges: Ranges) -> None:
    """Raises ScheduleError unless each element is made once, and all that is read."""
    element = [f"{d}" for d in range(len(shape))]
    ranges = {**ranges, **dict(zip(element, shape, strict=True))}
    own = pair.own(pair.write)
    made = iteration_of(pair.write.forms, [Linear({Var(t): 1}) for t in element], own, ranges)
    again = sorted(own.keys() - made.values.keys())
    if again:
        raise ScheduleError(f"{pair.write.text()} is made anew in each iteration of {again[0]}")
    at = dict(zip(element, pair.read.indices, strict=True))
    guards = (simplify_cond(substitute_expr(g, made.values), ranges) for g in pair.write.guards)
    prover = Prover(ranges, pair.read.guards)
    for cond in (simplify_cond(substitute_expr(c, at), ranges) for c in (*made.conds, *guards)):
        if not holds(cond, prover):
            raise ScheduleError(
                f"{pair.read.text()} may read what {pair.write.text()} does not make: that takes "
                f"{show_expr(cond)}"
            )


def _check_free(pair: _Pair, found: list[Access], ranges: Ranges) -> None:
    """Raises ScheduleError unless the consumer may run earlier, and in another order."""
    fixed = len(common_loops(pair.write, pair.read))
    block = common_depth(pair.write, pair.read)
    first, last = pair.write.position[block], pair.read.position[block]
    moved = [a for a in found if a.position == pair.read.position]
    for a, b in self_conflicts(moved):
        shown = meet_apart(a, b, fixed, ranges)
        if shown:
            raise ScheduleError(
                f"{a.text()} and {b.text()} may meet in different iterations of the consumer, "
                f"which would run in another order{shown}"
            )
    between = [
        a
        for a in found
        if a.position[:block] == pair.read.position[:block]
        and a.position != pair.read.position
        and first <= a.position[block] <= last
    ]
    for a, b in conflicts(moved, between):
        # what stands beside the consumer is passed only where it comes before it
        passed = meet_in_order if b.position[block] == last else meet
        shown = passed(b, a, fixed, ranges)
        if shown:
            raise ScheduleError(
                f"{a.text()} cannot move ahead of {b.text()}, which may touch the same element"
                f"{shown}"
            )
    if pair.consumer.reduce and any(f.kind is LoopKind.VECTORIZED for f in pair.write.loops):
        raise ScheduleError(
            f"the accumulation into {pair.consumer.buffer!r} would move into lanes: vectorize later"
        )


def _fused(pair: _Pair, ranges: Ranges) -> Body:
    """The consumer in the source's iterations."""
    own = pair.own(pair.read)
    wanted = [linear(i) for i in pair.write.indices]
    known = iteration_of(pair.read.forms, wanted, own, ranges)
    again = sorted(own.keys() - known.values.keys())
    if again:
        raise ScheduleError(f"{pair.read.text()} is used in each iteration of {again[0]}")

    def in_expr(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.buffer == pair.write.buffer:
            return pair.source.value
        return expr

    guards = (simplify_cond(substitute_expr(g, known.values), ranges) for g in pair.read.guards)
    prover = Prover(ranges, pair.write.guards)
    conds = [c for c in (*known.conds, *guards) if not holds(c, prover)]
    (store,) = substituted((pair.consumer,), known.values, ranges)
    assert isinstance(store, Store)
    return guarded(conds, (replace(store, value=map_expr(store.value, in_expr)),))


def _replaced(body: Body, position: tuple[int, ...], new: Body) -> Body:
    """`body` with `new` for the statement at `position`, without blocks that are then empty."""
    at, *below = position
    stmt = body[at]
    if below:
        assert isinstance(stmt, For | If)
        inner = _replaced(stmt.body, tuple(below), new)
        new = (with_body(stmt, inner),) if inner else ()
    return (*body[:at], *new, *body[at + 1 :])
