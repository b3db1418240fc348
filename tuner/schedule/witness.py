"""Two instances that tell why a step is refused, as the end of its message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tuner.ir.affine import Ranges
from tuner.ir.nodes import Expr, For
from tuner.schedule.access import Access
from tuner.schedule.dependence import Order, TooHard, meeting, nested

#: Two accesses, and orders of their instances: the first runs before the second in the program,
#: but not in the changed one.
Way = tuple[Access, Access, tuple[Order, ...]]


def shown(ways: Iterable[Way], ranges: Ranges, guards: Sequence[Expr] = ()) -> str:
    """A dependence that runs one of `ways`, as the end of a message; "" where there is none.
    `guards` hold around all accesses."""
    try:
        for first, second, orders in ways:
            pair = meeting(first, second, orders, ranges, guards)
            if pair is not None:
                return f"; for example, {pair.text()}"
    except TooHard as error:
        return f"; the exact analysis found {error}"
    return ""


def common_loops(a: Access, b: Access) -> tuple[For, ...]:
    """The loops around both, outermost first."""
    inner = {loop.var for loop in b.loops}
    return tuple(loop for loop in a.loops if loop.var in inner)


def program_order(first: Access, second: Access, fixed: int = 0) -> tuple[Order, ...]:
    """The first access is made before the second, in one iteration of the `fixed` outermost loops
    around both."""
    names = [loop.var for loop in common_loops(first, second)]
    order = nested(names[fixed:], "<")
    if first.position < second.position:
        order = (*order, tuple((name, "=") for name in names[fixed:]))
    return (still(names[:fixed]), order)


def still(names: Iterable[str]) -> Order:
    """Both accesses are made in one iteration of the loops `names`."""
    return (tuple((name, "=") for name in names),)
