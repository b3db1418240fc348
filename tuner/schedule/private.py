"""Whether each iteration of a loop writes whatever it reads of a buffer: then no value passes from
one iteration to another, and each may have the buffer to itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tuner.ir.affine import Linear, Ranges, as_nonnegative, linear_bounds, simplify_linear
from tuner.ir.nodes import Expr, Var
from tuner.ir.visit import variables
from tuner.schedule.access import Access, simplified


def defined_first(found: Sequence[Access], ranges: Ranges) -> bool:
    """Whether every element that `found`, all accesses of one buffer in one body, reads or
    accumulates into was assigned before by the same run of the body. `ranges` knows every loop."""
    starts = [a for a in found if a.mode == "assign"]
    return all(
        any(_defines(start, use, ranges) for start in starts)
        for use in found
        if use.mode != "assign"
    )


def _defines(start: Access, use: Access, ranges: Ranges) -> bool:
    """Whether some earlier instance of the assignment `start` wrote what `use` touches."""
    ahead = next(
        (a < b for a, b in zip(start.position, use.position, strict=False) if a != b), False
    )
    if not ahead:
        return False
    own = {loop.var for loop in start.loops} - {loop.var for loop in use.loops}
    writer = _writer(start, use, own, ranges)
    if writer is None:
        return False
    known = [as_nonnegative(cond) for cond in use.guards]
    return all(
        writer.allowed(cond, own, [k for k in known if k is not None], ranges)
        for cond in start.guards
    )


@dataclass(frozen=True, slots=True)
class _Dimension:
    """What a subscript adds up from the writer's own loops, and what it must come to."""

    mine: Linear
    value: Linear


@dataclass(frozen=True, slots=True)
class _Writer:
    """The instance that writes an element, as far as subscripts tell."""

    dimensions: tuple[_Dimension, ...]

    def allowed(
        self, cond: Expr, own: Collection[str], known: Sequence[Linear], ranges: Ranges
    ) -> bool:
        """Whether the guard `cond` lets that instance through, wherever `known` forms are >= 0."""
        form = as_nonnegative(cond)
        if form is None:
            return False
        for dimension in self.dimensions:
            for atom, step in dimension.mine.terms.items():
                times = form.terms.get(atom, 0) // step
                form = form.plus(dimension.mine, -times).plus(dimension.value, times)
                break
        form = simplify_linear(form, ranges)
        if _uses(form, own):
            return False
        if linear_bounds(form, ranges)[0] >= 0:
            return True
        gaps = (simplify_linear(form.plus(k, -1), ranges) for k in known)
        return any(not gap.terms and gap.const >= 0 for gap in gaps)


def _writer(start: Access, use: Access, own: Collection[str], ranges: Ranges) -> _Writer | None:
    """None unless the loops `own` of `start` reach whatever element `use` touches."""
    found: list[_Dimension] = []
    used: set[str] = set()
    pairs = zip(simplified(start, ranges), simplified(use, ranges), strict=True)
    for written, wanted in pairs:
        mine = Linear({Var(n): c for n in own if (c := written.coefficient(n))})
        rest = written.plus(mine, -1)
        value = simplify_linear(wanted.plus(rest, -1), ranges)
        names = {n for n in own if Var(n) in mine.terms}
        if _uses(rest, own) or used & names or not _reaches(mine, value, ranges):
            return None
        used |= names
        found.append(_Dimension(mine, value))
    return _Writer(tuple(found))


def _reaches(mine: Linear, value: Linear, ranges: Ranges) -> bool:
    """Whether the sum `mine` over whole loops takes on all values that `value` may have."""
    reach = 0
    for atom, step in sorted(mine.terms.items(), key=lambda item: item[1]):
        assert isinstance(atom, Var)
        if not 0 < step <= reach + 1:
            return False
        reach += step * (ranges[atom.name] - 1)
    low, high = linear_bounds(value, ranges)
    return low >= 0 and high <= reach


def _uses(form: Linear, names: Collection[str]) -> bool:
    return any(not variables(atom).isdisjoint(names) for atom in form.terms)
