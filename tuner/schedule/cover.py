"""Whether one assignment overwrites a whole region before anything else reads of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tuner.ir.affine import Linear, Ranges, linear_bounds
from tuner.ir.nodes import Buffer, Var
from tuner.schedule.access import Access, simplified
from tuner.schedule.region import Region, only_outside


def overwritten(found: Sequence[Access], region: Region, buffer: Buffer, ranges: Ranges) -> bool:
    """Whether some assignment among `found`, all accesses of `buffer` in one body, writes every
    element of `region` that lies in the buffer, each before the body's other accesses use it."""
    return any(
        _covers(store, [a for a in found if a is not store], region, buffer, ranges)
        for store in found
        if store.mode == "assign"
    )


def _covers(
    store: Access, others: Sequence[Access], region: Region, buffer: Buffer, ranges: Ranges
) -> bool:
    if not fills(store, region, buffer, ranges):
        return False
    offsets = region.relative(simplified(store, ranges), ranges)
    return all(
        _precedes(store, offsets, other, region, ranges)
        for other in others
        if other.mode != "assign"
    )


def fills(store: Access, region: Region, buffer: Buffer, ranges: Ranges) -> bool:
    """Whether `store`, of any mode, writes every element of `region` that lies in the buffer."""
    element = simplified(store, ranges)
    if not all(only_outside(c, element, buffer.shape, ranges) for c in store.guards):
        return False
    wanted = [(0, size - 1) for size in region.extents]
    every = {loop.var for loop in store.loops}
    return reaches_all(region.relative(element, ranges), every, wanted, ranges)


def _precedes(
    store: Access, offsets: Sequence[Linear], other: Access, region: Region, ranges: Ranges
) -> bool:
    """Whether what `other` uses was written by `store` in the same iteration of the loops that
    both stand in."""
    if not store.precedes(other):
        return False
    common = {loop.var for loop in store.loops} & {loop.var for loop in other.loops}
    own: list[Linear] = []
    wanted: list[tuple[int, int]] = []
    uses = region.relative(simplified(other, ranges), ranges)
    for mine, its in zip(offsets, uses, strict=True):
        shared = Linear(
            {a: c for a, c in mine.terms.items() if isinstance(a, Var) and a.name in common}
        )
        rest = its.plus(shared, -1)
        if any(isinstance(a, Var) and a.name in common for a in rest.terms):
            return False
        own.append(mine.plus(shared, -1))
        wanted.append(linear_bounds(rest, ranges))
    return reaches_all(own, {loop.var for loop in store.loops} - common, wanted, ranges)


def reaches_all(
    forms: Sequence[Linear],
    loops: Collection[str],
    wanted: Sequence[tuple[int, int]],
    ranges: Ranges,
) -> bool:
    """Whether `forms` take on every point of the box `wanted` while `loops` run: each loop moves
    one form only, and each form takes on all integers between its bounds."""
    used: set[str] = set()
    for form, (low, high) in zip(forms, wanted, strict=True):
        steps: list[tuple[int, int]] = []
        for atom, c in form.terms.items():
            if not isinstance(atom, Var) or atom.name not in loops or atom.name in used or c < 0:
                return False
            used.add(atom.name)
            steps.append((c, ranges[atom.name] - 1))
        reach = 0
        for c, last in sorted(steps):
            if c > reach + 1:
                return False
            reach += c * last
        if form.const > low or form.const + reach < high:
            return False
    return True
