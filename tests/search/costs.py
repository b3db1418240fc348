"""Spaces and made-up costs for tests of strategies."""

import numpy as np

from tests.space.programs import operator
from tuner.frontends.text import parse
from tuner.search import STRATEGIES
from tuner.search.strategy import key_of
from tuner.space.build import space_of
from tuner.target import target

AVX512 = target("cpu-avx512-1t")
#: 51,516 points
MATMUL = space_of(operator("matmul", m=192, n=192, k=192), AVX512)
#: 192 points in two sketches
TINY_MATMUL = space_of(operator("matmul", m=4, n=4, k=4), AVX512)
#: 16 points
SOFTMAX = space_of(operator("softmax", rows=2, cols=32), AVX512)
#: one point
COPY = space_of(
    parse("def copy(x: f32[3], y: f32[3]):\n    for i in range(3):\n        y[i] = x[i]\n"), AVX512
)


def cost(points):
    """Seconds: smooth in every knob, least somewhere inside; one in nine points fails."""
    wide = np.arange(1, points.choice.shape[1] + 1)
    seconds = 1.0 + points.sketch + ((points.choice - wide % 4) ** 2 / wide).sum(axis=1)
    return np.where(points.choice.sum(axis=1) % 9 == 8, np.nan, seconds)


def good_model(points):
    """Scores that know more than half of the truth."""
    noise = points.choice @ np.sin(np.arange(points.choice.shape[1]))
    return -np.nan_to_num(cost(points), nan=50.0) + 0.5 * noise


def no_model(points):
    return np.zeros(len(points))


def run(name, space, score, rounds=6, size=12, seed=0):
    """The points of each round."""
    strategy = STRATEGIES[name](space, np.random.default_rng(seed))
    asked = []
    for _ in range(rounds):
        points = strategy.ask(size, score)
        strategy.tell(points, cost(points))
        asked.append(points)
    return asked


def keys(space, rounds):
    return [key_of(space, points, row) for points in rounds for row in range(len(points))]
