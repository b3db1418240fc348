"""How well scores foretell times. Pure functions; formulae and sources are in docs/cost-model.md.

`scores` of points, higher is faster, and their `seconds`, both [points], belong to one workload on
one machine. Only points with finite seconds count: a failed trial has no speed to foretell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tuner.space.knobs import Floats


@dataclass(frozen=True, slots=True)
class Accuracy:
    """What the scores of one workload's points were worth, over `points` of them."""

    points: int
    rmse: float
    pairwise: float
    recall_8: float
    top_1: float
    top_5: float


def accuracy(scores: Floats, seconds: Floats) -> Accuracy | None:
    """All of the below; None where no point was timed."""
    timed = np.isfinite(seconds)
    if not timed.any():
        return None
    scores, seconds = scores[timed], seconds[timed]
    return Accuracy(
        points=len(seconds), rmse=rmse(scores, seconds), pairwise=pairwise(scores, seconds),
        recall_8=recall(scores, seconds, 8), top_1=top(scores, seconds, 1),
        top_5=top(scores, seconds, 5),
    )  # fmt: skip


def throughput(seconds: Floats) -> Floats:
    """Relative to the fastest: 1 for that, [points]."""
    return np.asarray(seconds.min() / seconds, dtype=np.float64)


def rmse(scores: Floats, seconds: Floats) -> float:
    """Root mean square error of the relative throughput, scores being its log2 up to a constant;
    that constant is the one which makes the foretold best 1."""
    foretold = np.exp2(scores - scores.max())
    return float(np.sqrt(np.mean((foretold - throughput(seconds)) ** 2)))


def pairwise(scores: Floats, seconds: Floats) -> float:
    """Share of the pairs of unlike seconds whose order is foretold; equal scores are half right.
    0.5 where there is no such pair."""
    faster = seconds[:, None] < seconds[None, :]
    if not faster.any():
        return 0.5
    said = np.sign(scores[:, None] - scores[None, :])[faster]
    return float(np.mean((said + 1) / 2))


def recall(scores: Floats, seconds: Floats, k: int) -> float:
    """Share of the `k` fastest that are among the `k` best scored; of all if there are fewer."""
    k = min(k, len(scores))
    best, foretold = _first(seconds, k), _first(-scores, k)
    return len(np.intersect1d(best, foretold)) / k


def top(scores: Floats, seconds: Floats, k: int) -> float:
    """The fastest's seconds over those of the fastest among the `k` best scored."""
    return float(seconds.min() / seconds[_first(-scores, k)].min())


def top_of_tasks(
    scores: Sequence[Floats], seconds: Sequence[Floats], weights: Sequence[float], k: int
) -> float:
    """The top-k score of several workloads: the weighted sum of their fastest seconds over that of
    the fastest among each one's `k` best scored."""
    fastest = [float(one.min()) for one in seconds]
    picked = [
        float(one.min()) / top(score, one, k) for score, one in zip(scores, seconds, strict=True)
    ]
    return float(np.dot(weights, fastest) / np.dot(weights, picked))


def random_top(seconds: Floats, k: int) -> float:
    """What `top` is on average where the order is random: the mean over all choices of `k`."""
    ordered = np.sort(seconds)
    n, k = len(ordered), min(k, len(ordered))
    # The i-th fastest is the fastest of a choice if the others come from those behind it.
    chance = np.array([math.comb(n - 1 - i, k - 1) / math.comb(n, k) for i in range(n)])
    return float(np.sum(chance * ordered[0] / ordered))


def _first(keys: Floats, k: int) -> np.ndarray:
    """Positions of the `k` smallest; of equal ones the first."""
    return np.argsort(keys, kind="stable")[:k]
