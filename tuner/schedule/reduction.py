"""Primitives on reductions: decompose_reduction, rfactor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tuner.errors import ScheduleError
from tuner.ir.affine import Ranges
from tuner.ir.nodes import Buffer, Const, Expr, For, Load, Program, Scope, Store, Var
from tuner.ir.visit import variables
from tuner.schedule.access import Access, accesses, accesses_of
from tuner.schedule.legality import check_moved_ahead
from tuner.schedule.nest import (
    Chain,
    Place,
    build,
    chain,
    check_count,
    check_fresh,
    declare,
    extents,
    find,
    find_buffer,
    find_serial,
    put,
    serial,
)
from tuner.schedule.reducers import check_declared, check_own_reads, neutral
from tuner.schedule.region import in_bounds
from tuner.schedule.steps import DecomposeReduction, Rfactor
from tuner.schedule.substitution import substituted


def decompose_reduction(program: Program, step: DecomposeReduction) -> Program:
    """Moves the assignment that starts the reduction into `buffer` into a nest before `loop`.

        for i in range(4):             for t in range(4):
            c[i] = 0.0                     c[t] = 0.0
            for k in range(8):  ->     for i in range(4):
                c[i] += a[i, k]            for k in range(8):
                                               c[i] += a[i, k]

    Legal where the assignment stands at the end of the chain that begins with `loop`, before all
    else there that it conflicts with, and conflicts with nothing in an earlier iteration of the
    chain. `names` are the loops of the new nest; guards are kept in both.
    """
    place = find(program, step.loop)
    whole = chain(place.loop)
    init = _start(whole, step)
    check_count("names", len(whole.loops), step.names)
    check_fresh(program, *step.names)
    ranges = {**place.ranges(), **extents(place.loop.body)}
    nest = build(whole.loops, whole.conds, whole.body)
    depth = len(whole.loops) + bool(whole.conds)
    at = (*(0,) * depth, init)
    _check_start(accesses(nest), at, whole, ranges, place.guards())
    renamed = {old.var: Var(name) for old, name in zip(whole.loops, step.names, strict=True)}
    new = [replace(old, var=renamed[old.var].name) for old in whole.loops]
    ranges = {**ranges, **{loop.var: loop.extent for loop in new}}
    start = build(new, whole.conds, (whole.body[init],))
    rest = build(whole.loops, whole.conds, (*whole.body[:init], *whole.body[init + 1 :]))
    return put(program, place, (*substituted(start, renamed, ranges), *rest))


def _start(whole: Chain, step: DecomposeReduction) -> int:
    """Where in the innermost block the start value is assigned."""
    for i, stmt in enumerate(whole.body):
        if isinstance(stmt, Store) and stmt.buffer == step.buffer and stmt.reduce is None:
            if len(whole.body) == 1:
                raise ScheduleError(f"{step.loop!r} contains nothing but this assignment")
            return i
    raise ScheduleError(
        f"expected an assignment of {step.buffer!r} at the end of the chain "
        f"{', '.join(whole.names())}, in one block with its accumulation"
    )


def _check_start(
    found: Sequence[Access],
    at: tuple[int, ...],
    whole: Chain,
    ranges: Ranges,
    guards: tuple[Expr, ...],
) -> None:
    """Raises ScheduleError unless the statement at position `at` may run ahead of all others."""
    moved = [a for a in found if a.position == at]
    check_moved_ahead(moved, [a for a in found if a.position != at], whole.loops, ranges, guards)


def rfactor(program: Program, step: Rfactor) -> Program:
    """Lets each iteration of the reduction loop accumulate into its own element of `cache`.

        for i in range(4):             for t in range(8):
            for k in range(8):             p[t] = 0.0
                s[0] += a[i, k] ->     for i in range(4):
                                           for k in range(8):
                                               p[k] += a[i, k]
                                       for u in range(8):
                                           s[0] += p[u]

    Legal where the chain that begins with `loop` ends in one declared reduction (`+=`, `*=`, max or
    min: associative and commutative, with a neutral value that partial results start with), over
    loops that its subscripts do not name, which reads no element that it has accumulated into. The
    value that the reduction starts with, whatever it is, stays where it is and counts once. The
    partial results start and end around the outermost loop of the chain for which that holds;
    guards that do not depend on these loops are kept around the end.
    """
    place = find_serial(program, step.loop)
    whole = chain(place.loop)
    store = _accumulation(place, whole)
    check_fresh(program, step.cache, step.init_loop, step.final_loop)
    size = place.loop.extent
    cache = Buffer(step.cache, find_buffer(program, store.buffer).dtype, (size,), Scope.LOCAL)
    partial = replace(store, buffer=step.cache, indices=(Var(step.loop),))
    init = Store(
        step.cache,
        (Var(step.init_loop),),
        Const(neutral(str(store.reduce), cache.dtype), cache.dtype),
    )
    total = replace(store, value=Load(step.cache, (Var(step.final_loop),), cache.dtype))
    outermost = find(program, _outermost(place, store))
    ranges = {**outermost.ranges(), **extents(outermost.loop.body)}
    check_own_reads(store, accesses_of(outermost.loop), ranges, outermost.guards())
    conds = _around_total(program, outermost, store)
    first, last = serial((step.init_loop, step.final_loop), (size, size))
    program = put(program, place, build(whole.loops, whole.conds, (partial,)))
    middle = find(program, outermost.loop.var)
    nests = (*build((first,), (), (init,)), middle.loop, *build((last,), conds, (total,)))
    return declare(put(program, middle, nests), cache)


def _accumulation(place: Place, whole: Chain) -> Store:
    """The one statement that the reduction loop carries."""
    loop, stmt = place.loop, whole.body[0]
    if len(whole.body) == 1 and isinstance(stmt, Store):
        ranges = {**place.ranges(), **extents(loop.body)}
        check_declared(stmt, accesses_of(loop), ranges, place.guards())
    if len(whole.body) != 1 or not isinstance(stmt, Store) or stmt.reduce is None:
        raise ScheduleError(
            f"expected {loop.var!r} to carry one accumulating store and nothing else"
        )
    over = set(whole.names()) & {v for i in stmt.indices for v in variables(i)}
    if over:
        raise ScheduleError(
            f"the accumulation into {stmt.buffer!r} runs over {', '.join(sorted(over))}, at or "
            f"inside {loop.var!r}: reorder these loops outside the reduction first"
        )
    return stmt


def _outermost(place: Place, store: Store) -> str:
    """The outermost loop around which the partial results may start and end."""
    named = {v for i in store.indices for v in variables(i)}
    name = place.loop.var
    for parent in reversed(place.around):
        if not isinstance(parent, For) or len(parent.body) != 1 or parent.var in named:
            break
        name = parent.var
    return name


def _around_total(program: Program, outermost: Place, store: Store) -> tuple[Expr, ...]:
    """The guards that the reduction stands under whatever its loops do; they must suffice to keep
    the one store after it in bounds."""
    below = chain(outermost.loop)
    conds = tuple(c for c in below.conds if variables(c).isdisjoint(below.names()))
    guards = (*outermost.guards(), *conds)
    total = Access(store.buffer, store.indices, "read", (), guards, (), ())
    shape = find_buffer(program, store.buffer).shape
    if not in_bounds(total, shape, outermost.ranges(), ()):
        raise ScheduleError(
            f"{total.text()} is in bounds only under a guard over the reduction's own loops: "
            f"its partial results cannot be added up outside of them"
        )
    return conds
