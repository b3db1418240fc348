"""The conformance suite of search strategies, on made-up costs, and what sets one apart."""

import numpy as np
import pytest

from tests.space.programs import operator
from tuner.search import STRATEGIES
from tuner.search.strategy import key_of
from tuner.space.build import space_of
from tuner.target import target

AVX512 = target("cpu-avx512-1t")
MATMUL = space_of(operator("matmul", m=192, n=192, k=192), AVX512)
#: 16 points
SOFTMAX = space_of(operator("softmax", rows=2, cols=32), AVX512)


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
    strategy = STRATEGIES[name](space, np.random.default_rng(seed))
    asked = []
    for _ in range(rounds):
        points = strategy.ask(size, score)
        strategy.tell(points, cost(points))
        asked.append(points)
    return asked


def keys(space, rounds):
    return [key_of(space, points, row) for points in rounds for row in range(len(points))]


@pytest.fixture(params=sorted(STRATEGIES))
def name(request):
    return request.param


def test_asks_for_as_many_as_wanted(name):
    assert [len(p) for p in run(name, MATMUL, good_model)] == [12] * 6


def test_asks_for_no_schedule_twice(name):
    found = keys(MATMUL, run(name, MATMUL, good_model))
    assert len(set(found)) == len(found)


def test_points_are_legal(name):
    for points in run(name, MATMUL, good_model):
        for index, sketch in enumerate(MATMUL.sketches):
            assert sketch.holds(points.choice[points.sketch == index]).all()


def test_one_seed_one_search(name):
    one, two = (keys(MATMUL, run(name, MATMUL, good_model, seed=3)) for _ in range(2))
    assert one == two
    assert one != keys(MATMUL, run(name, MATMUL, good_model, seed=4))


def test_runs_a_small_space_dry_and_stops(name):
    rounds = run(name, SOFTMAX, no_model, rounds=SOFTMAX.size // 8 + 3, size=8)
    assert len(keys(SOFTMAX, rounds)) == SOFTMAX.size
    assert len(rounds[-1]) == 0


def test_never_asks_for_what_is_excluded(name):
    everything = keys(SOFTMAX, run(name, SOFTMAX, no_model, rounds=SOFTMAX.size // 8 + 1, size=8))
    strategy = STRATEGIES[name](SOFTMAX, np.random.default_rng(0))
    strategy.exclude(everything[:-3])
    points = strategy.ask(8, no_model)
    assert set(keys(SOFTMAX, [points])) == set(everything[-3:])


def test_survives_a_space_where_everything_fails(name):
    strategy = STRATEGIES[name](MATMUL, np.random.default_rng(0))
    for _ in range(3):
        points = strategy.ask(8, good_model)
        strategy.tell(points, np.full(len(points), np.nan))
    assert len(strategy.ask(8, good_model)) == 8


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
