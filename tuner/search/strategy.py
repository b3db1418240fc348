"""What a search strategy is: ask for points, tell what came of them. No I/O, no clock, no model of
its own; its random generator and the scores are handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from tuner.log import steps_key
from tuner.schedule.steps import schedule_to_json
from tuner.space.knobs import Floats
from tuner.space.space import Population, Space

#: Scores of points, higher is faster.
Score = Callable[[Population], Floats]


class Strategy(Protocol):
    """One search over one space. A schedule is asked for once."""

    def ask(self, n: int, score: Score) -> Population:
        """Up to `n` points to measure next; fewer, or none, where the space has run dry."""

    def tell(self, points: Population, seconds: Floats) -> None:
        """Median seconds of measured points, NaN for those that failed."""

    def exclude(self, keys: Iterable[str]) -> None:
        """Schedules, by `tuner.log.steps_key`, that are never to be asked for."""


def key_of(space: Space, points: Population, row: int) -> str:
    """`steps_key` of the schedule of one point."""
    return steps_key(schedule_to_json(space.schedule(points, row)))


class Unseen:
    """Takes points in order and leaves out every schedule that was taken before."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._keys: set[str] = set()
        self._points: set[bytes] = set()

    def exclude(self, keys: Iterable[str]) -> None:
        """Counts these schedules as taken."""
        self._keys.update(keys)

    def take(self, points: Population, n: int) -> list[int]:
        """Rows of the first `n` points with schedules of their own; they are taken from now on."""
        rows: list[int] = []
        for row, point in enumerate(points.keys()):
            if len(rows) == n:
                break
            if point in self._points:
                continue
            self._points.add(point)
            key = key_of(self._space, points, row)
            if key not in self._keys:
                self._keys.add(key)
                rows.append(row)
        return rows
