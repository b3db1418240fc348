"""Primitives that change loops only: split, tile, reorder."""

from __future__ import annotations

from dataclasses import replace

from tuner.dtypes import BOOL, INDEX
from tuner.errors import ScheduleError
from tuner.ir.affine import conjuncts, simplify_cond
from tuner.ir.nodes import Call, Const, Expr, For, LoopKind, Program, Var
from tuner.schedule.access import accesses_of
from tuner.schedule.legality import check_order
from tuner.schedule.nest import (
    Chain,
    build,
    chain,
    check_count,
    check_fresh,
    extents,
    find_serial,
    put,
    serial,
)
from tuner.schedule.steps import Reorder, Split, Tile
from tuner.schedule.substitution import substituted

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

    Legal where the loops perfectly contain each other, none of them is vectorized, and no two
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
    if any(loop.kind == LoopKind.VECTORIZED for loop in whole.loops[: last + 1]):
        raise ScheduleError("a vectorized loop stays innermost: reorder before vectorizing")
    return whole.loops[: last + 1]
