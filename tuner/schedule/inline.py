"""inline: an element is computed again wherever it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.dtypes import INDEX
from tuner.errors import ScheduleError
from tuner.ir.affine import (
    Linear,
    Ranges,
    as_nonnegative,
    conjuncts,
    simplify_cond,
    simplify_index,
)
from tuner.ir.bounds import Prover
from tuner.ir.nodes import Call, Const, Expr, For, If, Load, Program, Stmt, Store, Var
from tuner.ir.show import show_expr
from tuner.ir.visit import (
    Body,
    loads,
    map_expr,
    rewrite_body,
    same_or_new,
    stores,
    substitute_expr,
    variables,
    walk_exprs,
    with_body,
)
from tuner.schedule.access import Access, accesses, of_buffer, reads
from tuner.schedule.inverse import iteration_of
from tuner.schedule.memory_steps import Inline
from tuner.schedule.motion import check_unchanged
from tuner.schedule.nest import extents, find_intermediate
from tuner.schedule.region import in_bounds
from tuner.schedule.substitution import substituted
from tuner.schedule.witness import common_loops

#: Most nodes of an expression that takes the place of a read.
MAX_NODES = 4096
#: Where a statement stands, and the subscripts of a read in it.
Place = tuple[tuple[int, ...], tuple[Expr, ...]]


def inline(program: Program, step: Inline) -> Program:
    """Puts the expression that computes `buffer` where it is read; the buffer is no more.

        for i in range(8):
            h[i] = x[i] * 2.0    ->    for j in range(8):
        for j in range(8):                 y[j] = x[j] * 2.0 + 1.0
            y[j] = h[j] + 1.0

    A value is rounded as the store rounded it: the expression has the buffer's type, by a cast
    where it is computed in another.

    Legal where one assignment makes all writes of the intermediate buffer; its subscripts tell
    which iteration writes an element (loops, or loops as the digits of a number, also behind // and
    %), and it depends on no other loop of its own; every read comes later in the same iteration of
    the loops around both and provably reads an element that was written there, guards considered;
    and nothing that the expression reads is written in between.
    """
    buffer = find_intermediate(program, step.buffer)
    found = accesses(program.body)
    source = _source(program, of_buffer(found, buffer.name))
    shapes = {b.name: b.shape for b in program.buffers()}
    ranges = extents(program.body)
    values: dict[Place, Expr] = {}
    for read in of_buffer(found, buffer.name):
        if read.writes:
            continue
        value, changed = _value_at(source, read, buffer.shape, ranges)
        for old, new in zip(source.inputs, changed, strict=True):
            if not in_bounds(new, shapes[new.buffer], ranges, ()):
                raise ScheduleError(
                    f"{new.text()}, which would take the place of {read.text()}, cannot be "
                    f"proven in bounds there"
                )
            check_unchanged(old, new, found, len(common_loops(source.access, read)), ranges)
        values[read.position, read.indices] = value
    body = without_stores(_replaced(program.body, buffer.name, values), buffer.name)
    others = tuple(b for b in program.locals if b.name != buffer.name)
    return replace(program, body=body, locals=others)


@dataclass(frozen=True, slots=True)
class Source:
    """The one assignment of a buffer."""

    store: Store
    access: Access
    #: what it reads
    inputs: tuple[Access, ...]


def _source(program: Program, used: Sequence[Access]) -> Source:
    """The assignment that computes the buffer. Raises ScheduleError where it cannot be inlined."""
    writes = [a for a in used if a.writes]
    if len(writes) != 1 or writes[0].accumulates:
        kinds = ", ".join(f"{a.text()} ({a.mode})" for a in writes)
        raise ScheduleError(
            f"expected one assignment that computes the buffer; found {kinds or 'none'}: use "
            f"compute_at for what takes several statements"
        )
    access = writes[0]
    store = next(s for s in stores(program.body) if s.buffer == access.buffer)
    if len(used) == 1:
        raise ScheduleError(f"nothing reads {access.buffer!r}")
    for load in loads(program.body):
        if any(access.buffer in reads(index) for index in load.indices):
            raise ScheduleError(
                f"{show_expr(load)} is read where {access.buffer!r} says: what a subscript reads "
                f"stays in a buffer"
            )
    found = accesses(program.body)
    inputs = tuple(a for a in found if a.position == access.position and not a.writes)
    return Source(store, access, inputs)


def _value_at(
    source: Source, read: Access, shape: Sequence[int], ranges: Ranges
) -> tuple[Expr, tuple[Access, ...]]:
    """The expression that takes the place of `read`, and what it reads, in the order of the
    source's inputs."""
    if not source.access.precedes(read):
        raise ScheduleError(f"{read.text()} is read before {source.access.text()} is written")
    # Solved for an element (t0, t1, …), which is then put in: so digits join again where they can.
    element = [f"{d}" for d in range(len(shape))]
    at = dict(zip(element, read.indices, strict=True))
    ranges = {**ranges, **dict(zip(element, shape, strict=True))}
    values, conds = _iteration(source, read, [Linear({Var(t): 1}) for t in element], ranges)
    prover = Prover(ranges, (*read.guards, *read.taken))
    for cond in (simplify_cond(substitute_expr(c, at), ranges) for c in conds):
        if not holds(cond, prover):
            raise ScheduleError(
                f"{read.text()} may read what {source.access.text()} does not write: that takes "
                f"{show_expr(cond)}; guard the read by it"
            )

    def moved(expr: Expr) -> Expr:
        return substitute_expr(substitute_expr(expr, values), at)

    inputs = []
    for old in source.inputs:
        there = [simplify_index(substitute_expr(i, values), ranges) for i in old.indices]
        indices = tuple(simplify_index(substitute_expr(i, at), ranges) for i in there)
        taken = (*read.taken, *map(moved, old.taken))
        inputs.append(replace(read, buffer=old.buffer, indices=indices, taken=taken))
    once = substituted((replace(source.store, indices=()),), values, ranges)
    (new,) = substituted(once, at, ranges)
    assert isinstance(new, Store)
    if sum(1 for _ in walk_exprs(new.value)) > MAX_NODES:
        raise ScheduleError(f"the expression has more than {MAX_NODES} nodes: keep the buffer")
    return new.value, tuple(inputs)


def _iteration(
    source: Source, read: Access, element: Sequence[Linear], ranges: Ranges
) -> tuple[dict[str, Expr], list[Expr]]:
    """The values of the source's own loops in which it writes `element`, and what must hold for
    it to do so."""
    shared = {loop.var for loop in common_loops(source.access, read)}
    own = {loop.var: loop.extent for loop in source.access.loops if loop.var not in shared}
    known = iteration_of(source.access.forms, element, own, ranges)
    for name in own.keys() - known.values.keys():
        if name in variables(source.store.value):
            raise ScheduleError(
                f"{source.access.text()} is computed anew in each iteration of {name}, and its "
                f"subscripts do not tell in which"
            )
        known.values[name] = Const(0)
    guards = (substitute_expr(g, known.values) for g in source.access.guards)
    return known.values, [*known.conds, *(simplify_cond(g, ranges) for g in guards)]


def holds(cond: Expr, prover: Prover) -> bool:
    """Whether `cond` provably holds where `prover` speaks of."""
    return all(_holds(c, prover) for c in conjuncts(cond))


def _holds(cond: Expr, prover: Prover) -> bool:
    if cond in [c for guard in prover.guards for c in conjuncts(guard)]:
        return True
    if isinstance(cond, Call) and cond.op == "eq":
        low, high = prover.bounds(Call("sub", cond.args, INDEX))
        return low > high or low == high == 0
    form = as_nonnegative(cond)
    return form is not None and prover.bounds(form.expr())[0] >= 0


def _replaced(
    body: Body, buffer: str, values: Mapping[Place, Expr], path: tuple[int, ...] = ()
) -> Body:
    """`body` with each read of `buffer` replaced by its value; only stores read it."""
    out: list[Stmt] = []
    for i, stmt in enumerate(body):
        here = (*path, i)
        if isinstance(stmt, Store):
            out.append(_with_values(stmt, buffer, values, here))
        elif isinstance(stmt, For | If):
            out.append(with_body(stmt, _replaced(stmt.body, buffer, values, here)))
    return same_or_new(body, tuple(out))


def _with_values(
    store: Store, buffer: str, values: Mapping[Place, Expr], at: tuple[int, ...]
) -> Store:
    def in_expr(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.buffer == buffer:
            return values[at, expr.indices]
        return expr

    value = map_expr(store.value, in_expr)
    return store if value is store.value else replace(store, value=value)


def without_stores(body: Body, buffer: str) -> Body:
    """`body` without the stores into `buffer` and without the loops and guards around nothing."""

    def kept(stmt: Stmt) -> Stmt | Body:
        match stmt:
            case Store():
                return () if stmt.buffer == buffer else stmt
            case For() | If():
                return stmt if stmt.body else ()
        return stmt

    return rewrite_body(body, kept)
