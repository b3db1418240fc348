"""Two runs of tests.schedule.brute_force: what must be the same before and after a step."""

from __future__ import annotations

from collections.abc import Iterator

from tests.schedule.brute_force import Done, Element, Instance, Run
from tuner.ir.nodes import Program
from tuner.ir.visit import outputs


def turned_around(before: Run, after: Run) -> tuple[Instance, Instance] | None:
    """Two instances that conflict and whose order differs; None if there are none. Where some
    instance does not run just once in both, order says nothing and the terms must decide."""
    if before.done.keys() != after.done.keys() or any(
        len(found) != 1 for run_ in (before, after) for found in run_.done.values()
    ):
        return None
    touching: dict[Element, list[Instance]] = {}
    for instance, (done,) in before.done.items():
        for element in {*done.reads, done.written}:
            touching.setdefault(element, []).append(instance)
    for element, instances in touching.items():
        for first in instances:
            for second in instances:
                old = before.done[first][0], before.done[second][0]
                new = after.done[first][0], after.done[second][0]
                if first != second and any(
                    getattr(old[0], x) < getattr(old[1], y)
                    and not getattr(new[0], x) < getattr(new[1], y)
                    for x, y in _conflict(element, *old)
                ):
                    return first, second
    return None


def _conflict(element: Element, a: Done, b: Done) -> Iterator[tuple[str, str]]:
    """The times, of the first and of the second, whose order counts."""
    commute = a.reduce is not None and a.reduce == b.reduce
    if a.written == element and b.written == element and not commute:
        yield "written_at", "written_at"
    if a.written == element and element in b.reads:
        yield "written_at", "read_at"
    if element in a.reads and b.written == element:
        yield "read_at", "written_at"


def same_terms(program: Program, before: Run, after: Run) -> bool:
    """Whether all outputs of `program` hold the same terms in the end."""
    names = set(outputs(program))
    elements = {e for r in (before, after) for e in r.memory if e[0] in names}
    return all(before.memory.get(e) == after.memory.get(e) for e in elements)
