"""Whether a statement may run at another place: what comes between must leave its values alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tuner.errors import ScheduleError
from tuner.ir.affine import Ranges
from tuner.ir.nodes import For
from tuner.schedule.access import Access
from tuner.schedule.legality import equal_loops


def common_loops(a: Access, b: Access) -> tuple[For, ...]:
    """The loops around both, outermost first."""
    inner = {loop.var for loop in b.loops}
    return tuple(loop for loop in a.loops if loop.var in inner)


def common_depth(a: Access, b: Access) -> int:
    """How many blocks both stand in; the first is the one that was searched."""
    pairs = zip(a.position, b.position, strict=False)
    return next((n for n, (x, y) in enumerate(pairs) if x != y), len(a.position))


def meet(a: Access, b: Access, fixed: int, ranges: Ranges) -> bool:
    """Whether `a` and `b` may touch one element while the `fixed` outermost loops stand still."""
    a, b = (replace(x, loops=x.loops[fixed:]) for x in (a, b))
    return a.buffer == b.buffer and equal_loops(a, b, (), ranges) is not None


def meet_apart(a: Access, b: Access, fixed: int, ranges: Ranges) -> bool:
    """Whether `a` and `b` may touch one element in different iterations of the loops around both,
    while the `fixed` outermost loops stand still."""
    if a.buffer != b.buffer:
        return False
    a, b = (replace(x, loops=x.loops[fixed:]) for x in (a, b))
    shared = common_loops(a, b)
    equal = equal_loops(a, b, shared, ranges)
    return equal is not None and equal != {loop.var for loop in shared}


def check_unchanged(
    read: Access, later: Access, found: Sequence[Access], fixed: int, ranges: Ranges
) -> None:
    """Raises ScheduleError unless `later`, the read that takes the place of `read`, sees the same
    value in the same iteration of the `fixed` loops around both. `found`: all accesses."""
    block = common_depth(read, later)
    first, last = read.position[block], later.position[block]
    for write in found:
        inside = write.position[:block] == read.position[:block] and len(write.position) > block
        if not write.writes or write.buffer != read.buffer or not inside:
            continue
        at = write.position[block]
        if at == first:
            changed = meet_apart(read, write, fixed, ranges) or (
                not write.precedes(read) and meet(read, write, fixed, ranges)
            )
        elif at == last:
            changed = meet_apart(later, write, fixed, ranges) or (
                write.precedes(later) and meet(later, write, fixed, ranges)
            )
        else:
            changed = first < at < last and meet(read, write, fixed, ranges)
        if changed:
            raise ScheduleError(
                f"{read.text()} may be written, as {write.text()}, between where it is read now "
                f"and where {later.text()} would be read instead"
            )
