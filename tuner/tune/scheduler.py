"""Whose round is next: one budget of trials over the workloads of a job. Pure: no I/O, no clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

#: Candidates in a round, at most.
ROUND = 16


@dataclass(frozen=True, slots=True)
class Turn:
    """The next round: which task, by its position, and how many candidates."""

    task: int
    size: int


class Scheduler(Protocol):
    """Divides trials over tasks that are named by their positions."""

    def next(self, left: int) -> Turn | None:
        """Who is asked next, with `left` trials of the budget; None once every task is closed."""

    def asked(self, task: int, n: int) -> None:
        """`n` candidates of it were issued."""

    def told(self, task: int, seconds: Sequence[float]) -> None:
        """Results, in the order in which their candidates were issued: NaN for a failure."""

    def close(self, task: int) -> None:
        """It has nothing left to ask for."""


class RoundRobin:
    """Tasks take turns; the last laps share what is left."""

    def __init__(self, tasks: int) -> None:
        self._open = [True] * tasks
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

    def asked(self, task: int, n: int) -> None:
        """Turns do not depend on it."""

    def told(self, task: int, seconds: Sequence[float]) -> None:
        """Turns do not depend on it."""

    def close(self, task: int) -> None:
        self._open[task] = False
