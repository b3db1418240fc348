"""What a tuning job is asked, what it tells while it runs, and what it ends with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from tuner.record import BestSchedule
from tuner.target import Target
from tuner.workload.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneJob:
    """A request to tune several workloads on one machine."""

    id: str
    #: one or more, of different hashes
    workloads: tuple[Workload, ...]
    target: Target
    #: search trials over all workloads, those of an earlier life of this job included
    trials: int
    #: seconds from now
    seconds: float
    #: a name in tuner.search.STRATEGIES
    strategy: str = "evolutionary"
    seed: int = 0
    #: search on also for workloads that were tuned on this setup before
    more: bool = False
    #: workload hash -> how often it occurs in what is to become fast; 1 where it is not named
    weights: Mapping[str, float] = field(default_factory=dict)
    #: seconds that earlier lives of this job spent, by account; see tuner.tune.accounts
    spent: Mapping[str, float] = field(default_factory=dict)


class State(StrEnum):
    """How a workload of a job stands."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """How one workload ended."""

    workload: str
    state: State
    #: why it ended as it did; empty where the budget was spent and a best is there
    reason: str
    #: search trials of this job that came back
    done: int
    failed: int
    #: outcome -> how many of this job's search trials had it, OK left out
    failures: dict[str, int] = field(default_factory=Counter)
    #: the winner; None where no candidate passed
    best: BestSchedule | None = None


class Progress(Protocol):
    """Hears what happens, as it happens."""

    def event(self, kind: str, data: dict[str, Any]) -> None:
        """`kind` is "trial", "round", "best" or "state"; `data` is JSON-able, names its
        "workload", and has times in seconds. With "spent" come the job's "seconds" so far, by
        account; see tuner.tune.accounts."""
