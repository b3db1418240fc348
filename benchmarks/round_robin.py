"""Workloads that take turns: what the scheduler of a job is compared with."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.tune.scheduler import ROUND, Turn


class RoundRobin:
    """A tuner.tune.scheduler.Scheduler by turns; the last laps share what is left."""

    def __init__(self, weights: Sequence[float]) -> None:
        self._open = [True] * len(weights)
        self._turn, self._size = 0, ROUND

    def next(self, left: int) -> Turn | None:
        tasks = [task for task, is_open in enumerate(self._open) if is_open]
        if not tasks:
            return None
        place = self._turn % len(tasks)
        if place == 0:
            self._size = min(ROUND, -(-left // len(tasks)))
        self._turn += 1
        return Turn(tasks[place], min(self._size, left))

    def known(self, task: int, seconds: Sequence[float]) -> None:
        """Turns do not depend on it."""

    def asked(self, task: int, n: int) -> None:
        """Turns do not depend on it."""

    def told(self, task: int, seconds: Sequence[float]) -> None:
        """Turns do not depend on it."""

    def close(self, task: int) -> None:
        self._open[task] = False

    def given_up(self, task: int) -> bool:
        """It never tires."""
        return False
