"""Scores of models on workloads that they never saw, beside the machine model and a random pick."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tuner.log import TuningLog
from tuner.model import analytic, metrics
from tuner.model.cost import Examples, together
from tuner.model.xgb import fit
from tuner.space.knobs import Floats
from tuner.target import target
from tuner.tune.history import examples_in

#: A warm search is as good as a cold one at this share of its final speed.
ENOUGH = 0.9
#: Points below which a space is too small for its scores to say much.
SMALL = 100
#: A score of points, higher is faster.
Scores = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Task:
    """The timed points of one workload on one target."""

    name: str
    workload: str
    examples: Examples


@dataclass(frozen=True, slots=True)
class Row:
    """What scores were worth on one task."""

    task: Task
    accuracy: metrics.Accuracy
    #: top-1 and top-5 of a random order
    random: tuple[float, float]
    #: trials in the order of the scores until one has ENOUGH of the best speed
    trials: int
    scores: Floats


def tasks(log: TuningLog, name: str) -> list[Task]:
    """The tasks of the log on the target called `name`, by workload."""
    by_workload: dict[str, list[str]] = {}
    timed = log.timed(name)
    for trial in timed:
        by_workload.setdefault(trial.workload, []).append(trial.id)
    found = []
    for workload in by_workload:
        some = [trial for trial in timed if trial.workload == workload]
        examples = together(list(examples_in(log, target(name), some)))
        shown = log.workload(workload).names.get("program", workload)
        found.append(Task(shown, workload, examples))
    return found


def row(task: Task, scores: Floats) -> Row:
    """Judges the scores of a task's points."""
    seconds = task.examples.seconds
    found = metrics.accuracy(scores, seconds)
    assert found is not None
    in_turn = seconds[np.argsort(-scores, kind="stable")]
    return Row(
        task, found, (metrics.random_top(seconds, 1), metrics.random_top(seconds, 5)),
        int(np.argmax(in_turn <= seconds.min() / ENOUGH)) + 1, scores,
    )  # fmt: skip


def left_out(every: Sequence[Task], seed: int) -> list[Row]:
    """Each task judged by a model of all others."""
    return [
        row(task, _fitted([one for one in every if one is not task], seed)(task.examples.table))
        for task in every
    ]


def new_target(known: Sequence[Task], every: Sequence[Task], seed: int) -> list[Row]:
    """Each task judged by a model of another target's tasks, those of its workload left out."""
    return [
        row(task, _fitted([k for k in known if k.workload != task.workload], seed)(
            task.examples.table
        ))
        for task in every
    ]  # fmt: skip


def machine_model(every: Sequence[Task]) -> list[Row]:
    """Each task judged by the machine model, which knows no data."""
    return [row(task, analytic.scores(task.examples.table)) for task in every]


def _fitted(some: Sequence[Task], seed: int) -> Scores:
    model = fit(together([task.examples for task in some]), seed)
    assert model is not None
    return model.scores


def means(rows: Sequence[Row]) -> dict[str, float]:
    """Means over workloads, and TenSet's ratio of sums with each workload weighing the same."""
    found = [r.accuracy for r in rows]
    scores = [r.scores for r in rows]
    seconds = [r.task.examples.seconds for r in rows]
    weights = [1.0 / float(s.min()) for s in seconds]
    return {
        "workloads": len(rows),
        "rmse": float(np.mean([a.rmse for a in found])),
        "pairwise": float(np.mean([a.pairwise for a in found])),
        "recall@8": float(np.mean([a.recall_8 for a in found])),
        "top-1": float(np.mean([a.top_1 for a in found])),
        "top-5": float(np.mean([a.top_5 for a in found])),
        "random top-1": float(np.mean([r.random[0] for r in rows])),
        "random top-5": float(np.mean([r.random[1] for r in rows])),
        "top-1 of tasks": metrics.top_of_tasks(scores, seconds, weights, 1),
        "top-5 of tasks": metrics.top_of_tasks(scores, seconds, weights, 5),
        "median trials": float(np.median([r.trials for r in rows])),
    }
