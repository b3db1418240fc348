"""What a search strategy is: ask for points, tell what came of them. No I/O, no clock, no model of
its own; its random generator and the scores are handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np

from tuner.log import steps_key
from tuner.schedule.steps import schedule_to_json
from tuner.space.knobs import Floats
from tuner.space.space import Population, Space, join

#: A space of at most so many points is small: all of them can be held, and walked through.
WALKED = 1 << 14
#: Draws without enough new schedules after which a space is walked through, or has run dry.
_DRAWS = 16

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
    """Points whose schedules were not taken before: of a given population, or drawn at random."""

    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        self._space, self._rng = space, rng
        self._keys: set[str] = set()
        self._points: set[bytes] = set()
        #: what is left of a space that is walked through
        self._left: Population | None = None

    def exclude(self, keys: Iterable[str]) -> None:
        """Counts these schedules as taken."""
        self._keys.update(keys)

    def take(self, points: Population, n: int) -> Population:
        """The first `n` of `points` with schedules of their own; they are taken from now on."""
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
        return points.take(np.array(rows, dtype=np.int64))

    def draw(self, n: int) -> Population:
        """`n` points at random. Fewer where draws find no more; of a small space then none is
        left."""
        found = self._space.sample(self._rng, 0)
        for _ in range(_DRAWS):
            if len(found) == n:
                return found
            drawn = self._space.sample(self._rng, 4 * n)
            found = join([found, self.take(drawn, n - len(found))])
        if self._space.size <= WALKED:
            found = join([found, self.walk(n - len(found))])
        return found

    def walk(self, n: int) -> Population:
        """The next `n` of all points of a small space, in an order drawn at random."""
        if self._left is None:
            everything = self._space.everything()
            self._left = everything.take(self._rng.permutation(len(everything)))
        found = self.take(self._left, n)
        keys = self._left.keys()
        fresh = [row for row, key in enumerate(keys) if key not in self._points]
        self._left = self._left.take(np.array(fresh, dtype=np.int64))
        return found
