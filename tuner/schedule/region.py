"""The box of a buffer that a body touches, and guards that only keep out what lies outside it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tuner.dtypes import BOOL
from tuner.errors import ScheduleError
from tuner.ir.affine import (
    INFINITE,
    Linear,
    Ranges,
    as_nonnegative,
    conjuncts,
    linear_bounds,
    simplify_cond,
    simplify_linear,
)
from tuner.ir.bounds import Prover
from tuner.ir.nodes import TRUE, Buffer, Call, Const, Expr, For, If, Stmt, Store
from tuner.ir.visit import Body, same_or_new, variables, with_body
from tuner.schedule.access import Access, accesses_of, simplified
from tuner.schedule.nest import guarded, has_load

Indices = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """Elements base + t of a buffer, where 0 <= t < extents, dimension by dimension."""

    #: in loops around the body only
    base: tuple[Linear, ...]
    extents: tuple[int, ...]

    def relative(self, indices: Sequence[Linear], ranges: Ranges) -> tuple[Linear, ...]:
        """The t of an element, simplified."""
        pairs = zip(indices, self.base, strict=True)
        return tuple(simplify_linear(i.plus(b, -1), ranges) for i, b in pairs)

    def element(self, offsets: Sequence[Linear], ranges: Ranges) -> tuple[Linear, ...]:
        """The subscripts base + t, simplified."""
        pairs = zip(offsets, self.base, strict=True)
        return tuple(simplify_linear(b.plus(t), ranges) for t, b in pairs)


def touched(found: Sequence[Access], inner: Collection[str], ranges: Ranges) -> Region:
    """The box that `found`, accesses of one buffer, touch while the loops in `inner` run and all
    others stand still. Guards are not looked at: the box may reach out of the buffer.

    Raises ScheduleError where the accesses move apart with the outer loops, or are unbounded.
    """
    base: list[Linear] = []
    sizes: list[int] = []
    for dimension in range(len(found[0].indices)):
        forms = [simplified(a, ranges)[dimension] for a in found]
        parts = [_split(f, inner) for f in forms]
        outer = parts[0][0]
        for access, (other, _) in zip(found, parts, strict=True):
            if other.terms != outer.terms:
                raise ScheduleError(
                    f"{found[0].text()} and {access.text()} move apart with the loops around: "
                    f"expected one box of constant size; choose a loop further outside or inside"
                )
        spans = [linear_bounds(within, ranges) for _, within in parts]
        low, high = min(s[0] for s in spans), max(s[1] for s in spans)
        if high - low >= INFINITE:
            raise ScheduleError(f"{found[0].text()}: subscript {dimension} has no bounds")
        base.append(outer.plus(Linear({}, low)))
        sizes.append(high - low + 1)
    return Region(tuple(base), tuple(sizes))


def _split(form: Linear, inner: Collection[str]) -> tuple[Linear, Linear]:
    """The part of `form` that stands still while the loops in `inner` run, and the rest."""
    still, moving = Linear({}), Linear({}, form.const)
    for atom, c in form.terms.items():
        term = Linear({atom: c})
        if has_load(atom) or not variables(atom).isdisjoint(inner):
            moving = moving.plus(term)
        else:
            still = still.plus(term)
    return still, moving


def inside(element: Sequence[Linear], shape: Sequence[int], ranges: Ranges) -> tuple[Expr, ...]:
    """The conditions under which `element` lies in a buffer of `shape`, but those that always
    hold."""
    out: list[Expr] = []
    for form, size in zip(element, shape, strict=True):
        low, high = linear_bounds(form, ranges)
        moving = Linear(form.terms).expr()
        if low < 0:
            out.append(Call("ge", (moving, Const(-form.const)), BOOL))
        if high >= size:
            out.append(Call("lt", (moving, Const(size - form.const)), BOOL))
    return tuple(simplify_cond(c, ranges) for c in out)


def only_outside(
    cond: Expr, element: Sequence[Linear], shape: Sequence[int], ranges: Ranges
) -> bool:
    """Whether `element` lies outside a buffer of `shape` wherever `cond` is false."""
    form = as_nonnegative(cond)
    if form is None or has_load(cond):
        return False
    form = simplify_linear(form, ranges)
    for index, size in zip(element, shape, strict=True):
        for limit in (index, Linear({}, size - 1).plus(index, -1)):
            rest = form.plus(limit, -1)
            if not rest.terms and rest.const >= 0:
                return True
    return False


def relaxed(
    body: Body, buffer: Buffer, shapes: Mapping[str, tuple[int, ...]], ranges: Ranges,
    around: tuple[Expr, ...],
) -> Body:  # fmt: skip
    """`body` without the guards that only keep elements outside `buffer` from being written there,
    where all other accesses stay in bounds without them. The caller sees to it that what is then
    written outside is never used. `around` are the guards that hold around `body`."""
    out: list[Stmt] = []
    for stmt in body:
        match stmt:
            case For():
                out.append(with_body(stmt, relaxed(stmt.body, buffer, shapes, ranges, around)))
            case If(cond, inner):
                kept = _kept(stmt, buffer, shapes, ranges, around)
                new = relaxed(inner, buffer, shapes, ranges, (*around, *kept))
                same = new is inner and len(kept) == len(conjuncts(cond))
                out.extend((stmt,) if same else guarded(kept, new))
            case Store():
                out.append(stmt)
    return same_or_new(body, tuple(out))


def _kept(
    stmt: If, buffer: Buffer, shapes: Mapping[str, tuple[int, ...]], ranges: Ranges,
    around: tuple[Expr, ...],
) -> tuple[Expr, ...]:  # fmt: skip
    """The parts of the guard that must stay."""
    found = accesses_of(If(TRUE, stmt.body))
    writes = [a for a in found if a.writes]
    kept = conjuncts(stmt.cond)
    if any(a.buffer != buffer.name for a in writes):
        return kept
    elements = [simplified(a, ranges) for a in writes]
    others = [a for a in found if a.buffer != buffer.name]
    for cond in kept:
        less = tuple(c for c in kept if c is not cond)
        if all(only_outside(cond, e, buffer.shape, ranges) for e in elements) and all(
            in_bounds(a, shapes[a.buffer], ranges, (*around, *less)) for a in others
        ):
            kept = less
    return kept


def in_bounds(
    access: Access, shape: Sequence[int], ranges: Ranges, around: tuple[Expr, ...]
) -> bool:
    """Whether `access` provably stays in a buffer of `shape` under its own guards and `around`."""
    prover = Prover(ranges, (*around, *access.guards, *access.taken))
    for index, size in zip(access.indices, shape, strict=True):
        low, high = prover.bounds(index)
        if low < 0 or high >= size:
            return False
    return True
