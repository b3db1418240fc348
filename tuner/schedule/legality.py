"""Dependences: which loops may change places, become lanes, or be cut in two.

Two instances conflict where they touch the same element, one of them writes, and they are not both
accumulations with one reducer. For a pair of accesses, `equal_loops` names the loops whose
iterations must coincide in every conflict; over those, changing the order changes nothing. Over the
others a conflict may run. This rule is cheap and settles what spaces generate; where it does not,
`dependence` is asked for a conflict that would really be turned around, and the refusal shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.errors import ScheduleError
from tuner.ir.affine import Linear, Ranges, bounds
from tuner.ir.nodes import Expr, For, Var
from tuner.ir.visit import variables
from tuner.schedule.access import Access
from tuner.schedule.dependence import Order, nested
from tuner.schedule.nest import has_load
from tuner.schedule.witness import common_loops, program_order, shown


def conflicts(first: Sequence[Access], second: Sequence[Access]) -> Iterator[tuple[Access, Access]]:
    """Pairs of which one writes what the other touches, accumulations of one reducer apart."""
    for a in first:
        for b in second:
            if a.buffer != b.buffer or not (a.writes or b.writes):
                continue
            if a.accumulates and a.mode == b.mode:
                continue
            yield a, b


def self_conflicts(found: Sequence[Access]) -> Iterator[tuple[Access, Access]]:
    """As `conflicts`, of every unordered pair of `found`, an access with itself included."""
    for i, a in enumerate(found):
        yield from conflicts((a,), found[i:])


def equal_loops(a: Access, b: Access, shared: Sequence[For], ranges: Ranges) -> set[str] | None:
    """Those of the `shared` loops whose iterations coincide wherever an instance of `a` and one of
    `b` touch the same element; None where they never do. Loops around the shared ones are held
    fixed; both accesses stand below all shared loops. `ranges` knows every loop around both.
    """
    names = {loop.var for loop in shared}
    inner = {loop.var for access in (a, b) for loop in access.loops} - names
    equal = {loop.var for loop in shared if loop.extent == 1}
    changed = True
    while changed and equal != names:
        changed = False
        for form_a, form_b in zip(a.forms, b.forms, strict=True):
            found = _equal_in_dimension(form_a, form_b, inner | (names - equal), names, ranges)
            if found is None:
                return None
            if not found <= equal:
                equal |= found
                changed = True
    return equal


def _equal_in_dimension(
    a: Linear, b: Linear, free: set[str], shared: set[str], ranges: Ranges
) -> set[str] | None:
    """The shared loops that one subscript forces to coincide, given that all loops not in `free`
    do: sum of c * (difference of a shared loop) lies in [low, high], and the largest c outweighs
    everything that smaller ones can make up for."""
    low = high = b.const - a.const
    steps: list[tuple[int, int, str]] = []
    for atom in {**a.terms, **b.terms}:
        of_a, of_b = a.terms.get(atom, 0), b.terms.get(atom, 0)
        if not _varies(atom, free):
            of_a, of_b = 0, of_b - of_a
        elif isinstance(atom, Var) and atom.name in shared and of_a == of_b:
            steps.append((abs(of_a), ranges[atom.name] - 1, atom.name))
            continue
        lo, hi = bounds(atom, ranges) if of_a or of_b else (0, 0)
        low += min(of_b * lo, of_b * hi) - max(of_a * lo, of_a * hi)
        high += max(of_b * lo, of_b * hi) - min(of_a * lo, of_a * hi)
    reach = sum(c * n for c, n, _ in steps)
    if low > reach or high < -reach:
        return None
    slack = max(abs(low), abs(high))
    forced: set[str] = set()
    for c, n, name in sorted(steps, reverse=True):
        reach -= c * n
        if c <= slack + reach:
            break
        forced.add(name)
    return forced


def _varies(atom: Expr, free: set[str]) -> bool:
    """Whether two instances may see different values of `atom`."""
    return has_load(atom) or not variables(atom).isdisjoint(free)


def check_order(
    old: Sequence[For],
    new: Sequence[For],
    found: Sequence[Access],
    ranges: Ranges,
    guards: Sequence[Expr] = (),
) -> None:
    """Raises ScheduleError unless the chain `old` may stand in the order `new`. `guards` hold
    around it."""
    after = [loop.var for loop in new]
    for a, b in self_conflicts(found):
        equal = equal_loops(a, b, old, ranges)
        if equal is None:
            continue
        carried = [loop.var for loop in old if loop.var not in equal]
        moved = [name for name in after if name not in equal]
        if carried == moved:
            continue
        same = (tuple((name, "=") for name in equal),)
        turned = (nested(carried, "<"), nested(moved, ">"), same)
        pair = shown([(a, b, turned), (b, a, turned)], ranges, guards)
        if pair:
            raise ScheduleError(
                f"{_pair(a, b)} may meet in different iterations of {', '.join(carried)}: these "
                f"loops must keep their order; reorder the others, or decompose the reduction "
                f"first{pair}"
            )


def check_lanes(
    loop: For, found: Sequence[Access], ranges: Ranges, guards: Sequence[Expr] = ()
) -> None:
    """Raises ScheduleError unless all iterations of `loop` may run in lockstep: one statement of
    all iterations after the other, each reading in all of them before it writes. Accumulations into
    one element become a horizontal reduction. `guards` hold around `loop`."""
    for a, b in self_conflicts(found):
        equal = equal_loops(a, b, (loop,), ranges)
        if equal is None or loop.var in equal:
            continue
        pair = shown([(*way, _earlier(loop)) for way in _turned_by_lanes(a, b)], ranges, guards)
        if pair:
            raise ScheduleError(
                f"{_pair(a, b)} may meet in different iterations of {loop.var}: "
                f"its iterations cannot become lanes{pair}"
            )
    for a in found:
        if not a.accumulates or not any(loop.var in variables(i) for i in a.indices):
            continue
        equal = equal_loops(a, a, (loop,), ranges)
        if equal is None or loop.var in equal:
            continue
        pair = shown([(a, a, _earlier(loop))], ranges, guards)
        if pair:
            raise ScheduleError(
                f"{a.text()} may be the same element in several iterations of {loop.var}, but not "
                f"in all: its iterations cannot become lanes{pair}"
            )


def _turned_by_lanes(a: Access, b: Access) -> list[tuple[Access, Access]]:
    """Whose instance in an earlier iteration comes later in lockstep, than whose in a later one."""
    if a.position != b.position:
        return [(a, b) if a.position > b.position else (b, a)]
    if a.writes and b.writes:
        return [(a, b)]
    return [(a, b) if a.writes else (b, a)]


def _earlier(loop: For) -> tuple[Order, ...]:
    return (nested((loop.var,), "<"),)


def check_parallel(
    loop: For, found: Sequence[Access], ranges: Ranges, guards: Sequence[Expr] = ()
) -> None:
    """Raises ScheduleError unless all iterations of `loop` may run at the same time: no element
    that one iteration writes is touched by another, accumulations included. `found` are the
    accesses below `loop` but those of buffers that each iteration has for itself; `guards` hold
    around `loop`."""
    for i, a in enumerate(found):
        for b in found[i:]:
            if a.buffer != b.buffer or not (a.writes or b.writes):
                continue
            equal = equal_loops(a, b, (loop,), ranges)
            if equal is None or loop.var in equal:
                continue
            pair = shown([(a, b, _earlier(loop)), (b, a, _earlier(loop))], ranges, guards)
            if pair:
                raise ScheduleError(
                    f"{_pair(a, b)} may meet in different iterations of {loop.var}: they cannot "
                    f"run at the same time{pair}"
                )


def check_moved_ahead(
    moved: Sequence[Access],
    stay: Sequence[Access],
    shared: Sequence[For],
    ranges: Ranges,
    guards: Sequence[Expr] = (),
) -> None:
    """Raises ScheduleError unless all instances of `moved` may run before all of `stay`, where both
    stand below the chain `shared`. `guards` hold around the chain."""
    names = {loop.var for loop in shared}
    for a, b in conflicts(moved, stay):
        equal = equal_loops(a, b, shared, ranges)
        if equal is None or (equal == names and a.position < b.position):
            continue
        pair = shown([(b, a, program_order(b, a))], ranges, guards)
        if pair:
            why = (
                f"{a.text()} cannot move ahead of {b.text()}, which comes before it"
                if equal == names
                else f"{_pair(a, b)} may meet in different iterations of "
                f"{', '.join(sorted(names - equal))}: the first cannot move ahead of all of them"
            )
            raise ScheduleError(f"{why}{pair}")


def check_read_first(
    found: Sequence[Access], ranges: Ranges, guards: Sequence[Expr], why: str
) -> None:
    """Raises ScheduleError unless all reads among `found`, the accesses of one buffer in a body,
    may be made before the body runs: none is of an element that the body has written before.
    `guards` hold around the body; the message says `why` a write is in the way."""
    for a in found:
        for b in found:
            if not a.writes or b.writes:
                continue
            shared = common_loops(a, b)
            equal = equal_loops(a, b, shared, ranges)
            if equal is None or (len(equal) == len(shared) and not a.precedes(b)):
                continue
            pair = shown([(a, b, program_order(a, b))], ranges, guards)
            if pair:
                raise ScheduleError(f"{a.text()} is written {why}{pair}")


def repeated(found: Sequence[Access], ranges: Ranges, guards: Sequence[Expr]) -> str:
    """Two instances of which one reads what the other has written, among `found`, the accesses of
    one buffer, as the end of a message; "" where there are none."""
    writes = [a for a in found if a.writes]
    ways = [(a, b, program_order(a, b)) for a in writes for b in found if not b.writes]
    return shown(ways, ranges, guards)


def _pair(a: Access, b: Access) -> str:
    kind = {True: "written", False: "read"}
    if a is b:
        return f"{a.text()} ({a.mode})"
    return f"{a.text()} ({kind[a.writes]}) and {b.text()} ({kind[b.writes]})"
