"""Whether a statement may run at another place: what comes between must leave its values alone.

Each function first asks the cheap rule of `legality`, then for two instances that really meet; it
returns them as the end of a message, or "" where there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tuner.errors import ScheduleError
from tuner.ir.affine import Ranges
from tuner.schedule.access import Access
from tuner.schedule.dependence import nested
from tuner.schedule.legality import equal_loops
from tuner.schedule.witness import common_loops, program_order, shown, still


def common_depth(a: Access, b: Access) -> int:
    """How many blocks both stand in; the first is the one that was searched."""
    pairs = zip(a.position, b.position, strict=False)
    return next((n for n, (x, y) in enumerate(pairs) if x != y), len(a.position))


def meet(first: Access, second: Access, fixed: int, ranges: Ranges) -> str:
    """Where the two may touch one element while the `fixed` outermost loops stand still."""
    if first.buffer != second.buffer or _apart(first, second, fixed, ranges):
        return ""
    names = [loop.var for loop in common_loops(first, second)[:fixed]]
    return shown([(first, second, (still(names),))], ranges)


def meet_apart(a: Access, b: Access, fixed: int, ranges: Ranges) -> str:
    """Where the two may touch one element in different iterations of the loops around both, while
    the `fixed` outermost loops stand still."""
    if a.buffer != b.buffer or _together(a, b, fixed, ranges):
        return ""
    names = [loop.var for loop in common_loops(a, b)]
    earlier = (still(names[:fixed]), nested(names[fixed:], "<"))
    return shown([(a, b, earlier), (b, a, earlier)], ranges)


def meet_in_order(first: Access, second: Access, fixed: int, ranges: Ranges) -> str:
    """Where `first` may touch an element before `second` does, while the `fixed` outermost loops
    stand still."""
    if first.buffer != second.buffer or _apart(first, second, fixed, ranges):
        return ""
    if not first.precedes(second) and _together(first, second, fixed, ranges):
        return ""
    return shown([(first, second, program_order(first, second, fixed))], ranges)


def _apart(a: Access, b: Access, fixed: int, ranges: Ranges) -> bool:
    """Whether the two plainly never touch one element."""
    a, b = (replace(x, loops=x.loops[fixed:]) for x in (a, b))
    return equal_loops(a, b, (), ranges) is None


def _together(a: Access, b: Access, fixed: int, ranges: Ranges) -> bool:
    """Whether the two plainly touch one element in one iteration of the loops around both only."""
    a, b = (replace(x, loops=x.loops[fixed:]) for x in (a, b))
    shared = common_loops(a, b)
    equal = equal_loops(a, b, shared, ranges)
    return equal is None or equal == {loop.var for loop in shared}


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
        if not first <= at <= last:
            continue
        if at == last:
            pair = meet_in_order(write, later, fixed, ranges)
        else:
            pair = meet_in_order(read, write, fixed, ranges)
        if pair:
            raise ScheduleError(
                f"{read.text()} may be written, as {write.text()}, between where it is read now "
                f"and where {later.text()} would be read instead{pair}"
            )
