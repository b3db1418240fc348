"""The task scheduler beside taking turns, on simulated machines.

    python -m benchmarks.scheduling [--seeds N]

The workloads of two models, each with how often it occurs. A round's candidates are those that the
machine model likes best of 1,500 points, one in eight at random, or all of them at random, as where
a model is of no help; two rounds are in flight. The
end-to-end time is the sum over workloads of weight times true seconds of what was measured fastest.
Each seed is another machine and other noise.
"""

from __future__ import annotations

import argparse
import itertools
from collections import deque

import numpy as np

from benchmarks.round_robin import RoundRobin
from benchmarks.simulated import Points, device, operator, print_table, spread
from tuner.model import analytic
from tuner.record import Purpose
from tuner.tune.loop import IN_FLIGHT
from tuner.tune.scheduler import GainScheduler, Scheduling

NOISE = 0.02
DRAWN = 1500
#: How candidates are chosen -> one in so many is drawn at random.
RANDOM_EVERY = {"by the machine model": 8, "at random": 1}
#: Trials for each workload of a model, on average.
SHARES = (12, 24, 48)
#: The workloads of a model and how often each occurs.
MODELS = {
    "encoder layer × 12": [
        (operator("dense", {"m": 128, "k": 768, "n": 768}), 48.0),
        (operator("dense", {"m": 128, "k": 768, "n": 3072, "activation": "gelu"}), 12.0),
        (operator("dense", {"m": 128, "k": 3072, "n": 768}), 12.0),
        (operator("batch_matmul", {"b": 12, "m": 128, "k": 64, "n": 128}), 12.0),
        (operator("softmax", {"rows": 1536, "cols": 128}), 12.0),
        (operator("layer_norm", {"rows": 128, "cols": 768}), 25.0),
    ],
    "convolutional net": [
        (operator("conv2d", {"c": 3, "h": 64, "w": 64, "f": 32, "kh": 3, "kw": 3, "pad": 1}), 1.0),
        (operator("conv2d", {"c": 32, "h": 64, "w": 64, "f": 32, "kh": 3, "kw": 3, "pad": 1}), 6.0),
        (operator("conv2d", {"c": 64, "h": 16, "w": 16, "f": 64, "kh": 3, "kw": 3, "pad": 1}), 5.0),
        (operator("relu", {"n": 131072}), 12.0),
        (operator("dense", {"m": 1, "k": 1024, "n": 1000}), 1.0),
    ],
}


class Searching:
    """One workload, asked for rounds."""

    def __init__(self, points: Points, seed: int, random_every: int) -> None:
        self._random_every = random_every
        self._points, self._device = points, device(seed, NOISE)
        self.true_s = points.true_s(seed)
        scores = analytic.scores(points.table)
        self._liked = np.argsort(scores, kind="stable").tolist()
        self._drawn = np.random.default_rng(seed).permutation(len(scores)).tolist()
        self._asked: set[int] = set()
        self.best: tuple[float, int] = (float("inf"), 0)

    def round(self, n: int) -> list[float]:
        """Measured seconds of the next `n` points; fewer where there are no more."""
        found = []
        for number in range(min(n, len(self.true_s) - len(self._asked))):
            row = self._next((number + 1) % self._random_every == 0)
            true = float(self.true_s[row])
            median = self._points.measured(row, true, self._device, Purpose.SEARCH).median_s
            assert median is not None
            self.best = min(self.best, (median, row))
            found.append(median)
        return found

    def _next(self, at_random: bool) -> int:
        while True:
            row = int((self._drawn if at_random else self._liked).pop())
            if row not in self._asked:
                self._asked.add(row)
                return row


def end_to_end(
    model: list[tuple[Points, float]],
    trials: int,
    seed: int,
    random_every: int,
    scheduling: Scheduling,
) -> float:
    """Weighted true seconds after so many trials."""
    scheduler = scheduling([weight for _, weight in model])
    tasks = [Searching(points, seed, random_every) for points, _ in model]
    flying: deque[tuple[int, list[float]]] = deque()
    issued = 0
    while issued < trials:
        turn = scheduler.next(trials - issued)
        if turn is None:
            break
        found = tasks[turn.task].round(turn.size)
        if len(found) < turn.size:
            scheduler.close(turn.task)
        scheduler.asked(turn.task, len(found))
        issued += len(found)
        flying.append((turn.task, found))
        if len(flying) == IN_FLIGHT:
            scheduler.told(*flying.popleft())
    return sum(
        weight * float(task.true_s[task.best[1]])
        for task, (_, weight) in zip(tasks, model, strict=True)
    )


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--seeds", type=int, default=20)
    seeds = range(arguments.parse_args().seeds)
    rows = []
    for name, workloads in MODELS.items():
        model = [(Points(workload, DRAWN, seed=0), weight) for workload, weight in workloads]
        for (chosen, random_every), share in itertools.product(RANDOM_EVERY.items(), SHARES):
            trials = share * len(model)
            turns, ours = (
                [1e3 * end_to_end(model, trials, seed, random_every, scheduling) for seed in seeds]
                for scheduling in (RoundRobin, GainScheduler)
            )
            ratio = [b / a for a, b in zip(turns, ours, strict=True)]
            rows.append((name, chosen, str(trials), spread(turns), spread(ours), spread(ratio)))
    print_table(
        ("model", "candidates", "trials", "turns, ms", "scheduler, ms", "ratio, seed by seed"), rows
    )


if __name__ == "__main__":
    main()
