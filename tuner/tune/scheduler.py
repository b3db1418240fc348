"""Whose round is next: one budget of trials over the workloads of a job. Pure: no I/O, no clock.

What counts is the weighted end-to-end time, the sum over tasks of weight x best seconds. The
minimum of t independent draws from a law with a power-law lower tail falls as t^-s (the Weibull
case of extreme value theory), and the best of a search does so too, roughly. So with best seconds
g after t trials, p more of them pending, n further trials are expected to save

    weight * g * ((t / (t + p))^s - (t / (t + p + n))^s)

where s is seen on the task itself: what its last doubling of trials brought,

    s = (ln(g(t/2) / g(t)) + PRIOR * ln 2) / (ln(t / (t/2)) + ln 2),

together with one doubling more at PRIOR, so that luck and a plateau do not decide alone. The task
with the largest saving is asked next. The aim, and that a task's own progress tells what is to be
gained from it, are those of the gradient scheduler of Zheng et al., "Ansor: Generating
High-Performance Tensor Programs for Deep Learning" (OSDI 2020), section 6; the formula is ours.

All of it follows from what was issued and told, in that order: a log that is told anew gives the
same state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

#: Candidates in a round, at most.
ROUND = 16
#: Every task has at least this share of an equal share of what all were given, less one round.
MIN_SHARE = 0.25
#: A task is given up when so many trials of this job came back and none ever passed.
GIVE_UP = 48
#: Power of the fall of a best with trials that is expected of a task that says nothing yet.
PRIOR = 0.2


@dataclass(frozen=True, slots=True)
class Turn:
    """The next round: which task, by its position, and how many candidates."""

    task: int
    size: int


class Scheduler(Protocol):
    """Divides trials over tasks, which are named by their positions."""

    def next(self, left: int) -> Turn | None:
        """Who is asked next, with `left` trials of the budget; None where no task is left."""

    def known(self, task: int, seconds: Sequence[float]) -> None:
        """Results of earlier jobs, in order: NaN for a failure."""

    def asked(self, task: int, n: int) -> None:
        """`n` candidates of it were issued."""

    def told(self, task: int, seconds: Sequence[float]) -> None:
        """Results of this job, in the order in which they were issued: NaN for a failure."""

    def close(self, task: int) -> None:
        """It has nothing left to ask for."""

    def given_up(self, task: int) -> bool:
        """Whether it is not asked again for want of any success."""


#: Makes a scheduler of tasks with these weights.
Scheduling = Callable[[Sequence[float]], Scheduler]


@dataclass(slots=True)
class Standing:
    """What is known of one task."""

    weight: float
    #: best seconds after each result, those of earlier jobs first; infinite while none passed
    curve: list[float] = field(default_factory=list)
    #: trials of this job
    issued: int = 0
    told: int = 0
    closed: bool = False

    @property
    def best(self) -> float:
        return self.curve[-1] if self.curve else math.inf

    @property
    def dead(self) -> bool:
        return self.told >= GIVE_UP and math.isinf(self.best)

    def add(self, seconds: Sequence[float]) -> None:
        """More results."""
        for one in seconds:
            self.curve.append(self.best if math.isnan(one) else min(self.best, one))

    def exponent(self) -> float:
        """How fast its best falls: the power of 1 / trials."""
        t = len(self.curve)
        first = next(i for i, best in enumerate(self.curve) if math.isfinite(best))
        start = max(first, (t + 1) // 2 - 1)
        gained, over = math.log(self.curve[start] / self.best), math.log(t / (start + 1))
        return (gained + PRIOR * math.log(2)) / (over + math.log(2))

    def gain(self, n: int) -> float:
        """Weighted seconds that `n` more trials are expected to save; 0 while none passed."""
        if math.isinf(self.best):
            return 0.0
        t, power = len(self.curve), self.exponent()
        pending = t + self.issued - self.told
        saved = math.pow(t / pending, power) - math.pow(t / (pending + n), power)
        return self.weight * self.best * saved


class GainScheduler:
    """By expected gain in weighted end-to-end time; each task is asked once before any other is
    asked twice, and none starves."""

    def __init__(self, weights: Sequence[float]) -> None:
        self.tasks = [Standing(weight) for weight in weights]

    def next(self, left: int) -> Turn | None:
        """A task that has had nothing, else one that starves, else the one with most to gain."""
        live = [i for i, task in enumerate(self.tasks) if not (task.closed or task.dead)]
        if not live:
            return None
        new = [i for i in live if not self.tasks[i].issued]
        size = min(ROUND, left)
        if new:
            return Turn(new[0], min(size, self._first(left)))
        least = min(live, key=lambda i: (self.tasks[i].issued, i))
        equal = sum(self.tasks[i].issued for i in live) / len(live)
        if self.tasks[least].issued < MIN_SHARE * equal:
            return Turn(least, size)
        return Turn(max(live, key=lambda i: self._promise(i, size)), size)

    def _first(self, left: int) -> int:
        """Candidates of a first round: together they take half of the budget at most, where there
        is more than one task, so that what they tell can be acted on."""
        budget = left + sum(task.issued for task in self.tasks)
        return -(-budget // (2 * len(self.tasks))) if len(self.tasks) > 1 else left

    def _promise(self, i: int, size: int) -> tuple[float, ...]:
        """Larger is better: where nothing is to be gained, those that failed least."""
        task = self.tasks[i]
        return task.gain(size), -task.told, -task.issued, -i

    def known(self, task: int, seconds: Sequence[float]) -> None:
        """They tell how far the task is, and count against no share."""
        self.tasks[task].add(seconds)

    def asked(self, task: int, n: int) -> None:
        self.tasks[task].issued += n

    def told(self, task: int, seconds: Sequence[float]) -> None:
        self.tasks[task].told += len(seconds)
        self.tasks[task].add(seconds)

    def close(self, task: int) -> None:
        self.tasks[task].closed = True

    def given_up(self, task: int) -> bool:
        return self.tasks[task].dead
