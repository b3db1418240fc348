"""Primitives that change loops only: split, tile, reorder, fuse, partition, add_unit_loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tuner.dtypes import BOOL, INDEX
from tuner.errors import ScheduleError
from tuner.ir.affine import conjuncts, simplify_cond
from tuner.ir.nodes import Call, Const, Expr, For, If, Program, Stmt, Var
from tuner.ir.visit import Body, is_const, loops, rewrite_body, substitute
from tuner.schedule.access import accesses_of
from tuner.schedule.legality import check_order
from tuner.schedule.loop_steps import AddUnitLoop, Fuse, Partition
from tuner.schedule.nest import (
    Chain,
    Place,
    build,
    chain,
    check_count,
    check_fresh,
    extents,
    find,
    find_serial,
    put,
    serial,
)
from tuner.schedule.steps import Reorder, Split, Tile
from tuner.schedule.substitution import substituted

#: Most iterations of a fused loop.
MAX_FUSED = (1 << 31) - 1
#: Largest factor of a split.
MAX_FACTOR = 1 << 20


def split(program: Program, step: Split) -> Program:
    """Splits `loop` into `outer` over tiles and `inner` within a tile of `factor` iterations.

        for i in range(10):            for io in range(3):
            y[i] = x[i]         ->         for ii in range(4):
                                               if io * 4 + ii < 10:
                                                   y[io * 4 + ii] = x[io * 4 + ii]

    Legal for every serial loop and every factor from 1: the order of iterations stays. Where the
    factor does not divide the extent (or exceeds it) the tail is guarded; the guard stands below
    all loops that the split loop perfectly contains, so that they stay one chain.
    """
    place = find_serial(program, step.loop)
    if not 1 <= step.factor <= MAX_FACTOR:
        raise ScheduleError(f"factor must be between 1 and {MAX_FACTOR}; found {step.factor}")
    check_fresh(program, step.outer, step.inner)
    loop = place.loop
    tiles = -(-loop.extent // step.factor)
    outer, inner = serial((step.outer, step.inner), (tiles, step.factor))
    whole = _recombined(step)
    ranges = {
        **place.ranges(), **extents(loop.body), outer.var: outer.extent, inner.var: inner.extent
    }  # fmt: skip
    below = chain(replace(loop, body=substituted(loop.body, {step.loop: whole}, ranges)))
    conds = below.conds
    if loop.extent % step.factor:
        tail = Call("lt", (whole, Const(loop.extent)), BOOL)
        conds = (*conds, *conjuncts(simplify_cond(tail, ranges)))
    return put(program, place, build((outer, inner, *below.loops[1:]), conds, below.body))


def _recombined(step: Split) -> Expr:
    """outer * factor + inner."""
    if step.factor == 1:
        return Call("add", (Var(step.outer), Var(step.inner)), INDEX)
    tile = Call("mul", (Var(step.outer), Const(step.factor)), INDEX)
    return Call("add", (tile, Var(step.inner)), INDEX)


def tile(program: Program, step: Tile) -> Program:
    """Splits each of `loops` by its factor and moves all outer loops above all inner ones.

        for i in range(8):             for io in range(2):
            for j in range(8):             for jo in range(4):
                y[i, j] = 0.0   ->             for ii in range(4):
                                                   for ji in range(2):
                                                       y[io * 4 + ii, jo * 2 + ji] = 0.0

    Legal where the splits are and the loops may stand in the new order (see `reorder`).
    """
    for what, entries in (
        ("factors", step.factors), ("outer names", step.outer), ("inner names", step.inner)
    ):  # fmt: skip
        check_count(what, len(step.loops), entries)
    for loop, factor, outer, inner in zip(
        step.loops, step.factors, step.outer, step.inner, strict=True
    ):
        program = split(program, Split(loop, factor, outer, inner))
    return reorder(program, Reorder((*step.outer, *step.inner)))


def reorder(program: Program, step: Reorder) -> Program:
    """Puts `loops`, all of one chain, into this order; loops between them keep their places.

        for i in range(4):             for k in range(8):
            for k in range(8):  ->         for i in range(4):
                c[i] += a[i, k]                c[i] += a[i, k]

    Legal where the loops perfectly contain each other, all of them are serial, and no two
    instances that conflict (accumulations with one reducer do not) change places. Guards between
    the loops move below them.
    """
    if len(set(step.loops)) != len(step.loops) or not step.loops:
        raise ScheduleError(f"expected different loops; found {step.loops}")
    places = [find_serial(program, name) for name in step.loops]
    place = min(places, key=lambda p: len(p.around))
    whole = chain(place.loop)
    missing = [name for name in step.loops if name not in whole.names()]
    if missing:
        raise ScheduleError(
            f"{', '.join(missing)} must stand in one chain with {place.loop.var}, each loop alone "
            f"in the one around it; the chain from there is {', '.join(whole.names())}"
        )
    segment = _segment(whole, step.loops)
    moving = iter(step.loops)
    by_name = {loop.var: loop for loop in segment}
    new = tuple(by_name[next(moving)] if loop.var in step.loops else loop for loop in segment)
    if new == segment:
        return program
    ranges = {**place.ranges(), **extents(place.loop.body)}
    check_order(segment, new, accesses_of(segment[0]), ranges, place.guards())
    rest = whole.loops[len(segment) :]
    return put(program, place, build((*new, *rest), whole.conds, whole.body))


def _segment(whole: Chain, names: tuple[str, ...]) -> tuple[For, ...]:
    """The part of the chain from its first loop to the innermost of `names`."""
    last = max(i for i, name in enumerate(whole.names()) if name in names)
    return whole.loops[: last + 1]


def fuse(program: Program, step: Fuse) -> Program:
    """Makes one loop `fused` of `outer` and of `inner`, which stands alone in it.

        for i in range(4):             for f in range(12):
            for j in range(3):  ->         y[f // 3, f % 3] = x[f // 3, f % 3]
                y[i, j] = x[i, j]

    Legal for two serial loops where `outer` contains nothing but `inner`, and guards that read no
    buffer: the order of iterations stays. Such a guard moves below all loops of the chain.
    """
    place, inner = find_serial(program, step.outer), find_serial(program, step.inner).loop
    whole = chain(place.loop)
    if inner not in whole.loops[1:2]:
        raise ScheduleError(
            f"{step.inner!r} must stand alone directly inside {step.outer!r}; the chain from there "
            f"is {', '.join(whole.names())}"
        )
    extent = place.loop.extent * inner.extent
    if extent > MAX_FUSED:
        raise ScheduleError(f"fused, the loops have {extent} iterations, more than {MAX_FUSED}")
    check_fresh(program, step.fused)
    (loop,) = serial((step.fused,), (extent,))
    size, var = Const(inner.extent), Var(step.fused)
    values: dict[str, Expr] = {
        step.outer: Call("floordiv", (var, size), INDEX),
        step.inner: Call("mod", (var, size), INDEX),
    }
    ranges = {**place.ranges(), **extents(place.loop.body), loop.var: extent}
    rest = build(whole.loops[2:], whole.conds, whole.body)
    return put(program, place, (replace(loop, body=substituted(rest, values, ranges)),))


def partition(program: Program, step: Partition) -> Program:
    """Cuts `loop` in two at iteration `at`: a main part, which keeps its names, and a tail.

        for i in range(10):            for i in range(8):
            if i < 8:                      y[i] = x[i]
                y[i] = x[i]     ->         z[i] = 0.0
            z[i] = 0.0                 for t in range(2):
                                           z[t + 8] = 0.0

    Legal for every serial loop and 0 < at < extent: the order of iterations stays. Guards and
    conditional expressions that are settled in a part disappear from it.
    """
    place = find_serial(program, step.loop)
    loop = place.loop
    if not 0 < step.at < loop.extent:
        raise ScheduleError(
            f"at must be between 1 and {loop.extent - 1}, so that both parts of {step.loop!r} have "
            f"iterations; found {step.at}"
        )
    below = [inner.var for inner in loops(loop.body)]
    check_count(f"names, for {', '.join((loop.var, *below))}", len(below) + 1, step.names)
    check_fresh(program, *step.names)
    tail, *copies = step.names
    main_body = _settled(place, step.at, loop.body, loop.var, Var(loop.var))
    renamed = dict(zip(below, copies, strict=True))
    start = Call("add", (Var(tail), Const(step.at)), INDEX)
    tail_body = _settled(place, loop.extent - step.at, _renamed(loop.body, renamed), tail, start)
    main = replace(loop, extent=step.at, body=main_body)
    rest = For(tail, loop.extent - step.at, loop.kind, tail_body, loop.notes)
    parts = tuple(part for part in (main, rest) if part.body)
    if not parts:
        raise ScheduleError(f"no guard below {step.loop!r} is ever true: there is nothing to cut")
    return put(program, place, parts)


def _settled(place: Place, extent: int, body: Body, var: str, value: Expr) -> Body:
    """`body` for the iterations `value` of the loop of `place`, while `var` runs over `extent`."""
    ranges = {**place.ranges(), **extents(body), var: extent}
    return _without_never(substituted(body, {place.loop.var: value}, ranges))


def _renamed(body: Body, names: Mapping[str, str]) -> Body:
    """A copy of `body` with other loops."""

    def in_stmt(stmt: Stmt) -> Stmt:
        return replace(stmt, var=names[stmt.var]) if isinstance(stmt, For) else stmt

    return substitute(rewrite_body(body, in_stmt), {old: Var(new) for old, new in names.items()})


def _without_never(body: Body) -> Body:
    """`body` without what stands under a guard that is never true, and loops left empty."""

    def step(stmt: Stmt) -> Stmt | Body:
        if isinstance(stmt, If) and is_const(stmt.cond, False):
            return ()
        return () if isinstance(stmt, For | If) and not stmt.body else stmt

    return rewrite_body(body, step)


def add_unit_loop(program: Program, step: AddUnitLoop) -> Program:
    """Puts a loop of one iteration around `loop`.

        for i in range(8):      ->     for u in range(1):
            y[i] = x[i]                    for i in range(8):
                                               y[i] = x[i]

    Legal for every loop; the new one is serial.
    """
    place = find(program, step.loop)
    check_fresh(program, step.unit)
    (unit,) = serial((step.unit,), (1,))
    return put(program, place, (replace(unit, body=(place.loop,)),))
