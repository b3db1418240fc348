"""What sets the evolutionary search apart: it follows a model, climbs without one, and keeps
trying what the model does not like."""

import numpy as np

from tests.search.costs import MATMUL, cost, good_model, keys, no_model, run
from tuner.search import STRATEGIES


def best(rounds):
    return min(np.nanmin(cost(points)) for points in rounds)


def test_evolution_under_a_model_beats_chance():
    seeds = range(5)
    evolved = [best(run("evolutionary", MATMUL, good_model, seed=s)) for s in seeds]
    drawn = [best(run("random", MATMUL, good_model, seed=s)) for s in seeds]
    assert np.median(evolved) < np.median(drawn)


def test_evolution_without_a_model_still_climbs():
    seeds = range(5)
    first = [best(run("evolutionary", MATMUL, no_model, rounds=1, seed=s)) for s in seeds]
    later = [best(run("evolutionary", MATMUL, no_model, rounds=8, seed=s)) for s in seeds]
    assert np.median(later) < np.median(first)


def test_evolution_always_tries_something_at_random():
    first, second = (
        keys(MATMUL, run("evolutionary", MATMUL, good_model, rounds=1, size=16, seed=s))
        for s in (0, 1)
    )
    assert set(first[-2:]).isdisjoint(second)


def test_elites_of_the_log_have_children():
    """What earlier jobs measured leads the first round, where the model ranks rightly."""
    known = MATMUL.sample(np.random.default_rng(9), 2000)
    told, untold = [], []
    for seed in range(5):
        for asked, log in ((told, known), (untold, known.take(np.arange(0)))):
            strategy = STRATEGIES["evolutionary"](MATMUL, np.random.default_rng(seed))
            strategy.tell(log, cost(log))
            points = strategy.ask(16, lambda some: -np.nan_to_num(cost(some), nan=50.0))
            asked.append(np.nanmean(cost(points)))
    assert np.median(told) < np.median(untold)
