"""What every search strategy keeps to, on made-up costs."""

import numpy as np
import pytest

from tests.search.costs import (
    COPY,
    MATMUL,
    SOFTMAX,
    TINY_MATMUL,
    good_model,
    keys,
    no_model,
    run,
)
from tuner.errors import SearchError
from tuner.search import STRATEGIES

SPACES = {"matmul": MATMUL, "tiny matmul": TINY_MATMUL, "softmax": SOFTMAX, "copy": COPY}
SMALL = ("tiny matmul", "softmax", "copy")


#: An exhaustive search refuses a large space.
PAIRS = [
    (name, space)
    for name in sorted(STRATEGIES)
    for space in SPACES
    if space in SMALL or name != "exhaustive"
]
of_each = pytest.mark.parametrize("name", sorted(STRATEGIES))
in_each_space = pytest.mark.parametrize(
    ("name", "space"), [(name, SPACES[space]) for name, space in PAIRS], ids=map(" in ".join, PAIRS)
)


@pytest.fixture(params=SMALL)
def small(request):
    return SPACES[request.param]


@in_each_space
def test_asks_for_as_many_as_wanted_until_the_space_is_dry(name, space):
    asked = [len(p) for p in run(name, space, good_model)]
    assert asked == [min(12, max(0, space.size - 12 * n)) for n in range(6)]


@pytest.mark.parametrize("size", [1, 2, 5])
@in_each_space
def test_a_budget_may_be_smaller_than_a_round(name, space, size):
    (points,) = run(name, space, good_model, rounds=1, size=size)
    assert len(points) == min(size, space.size)


@in_each_space
def test_asks_for_no_schedule_twice(name, space):
    found = keys(space, run(name, space, good_model))
    assert len(set(found)) == len(found)


@in_each_space
def test_points_are_legal(name, space):
    for points in run(name, space, good_model):
        for index, sketch in enumerate(space.sketches):
            rows = np.flatnonzero(points.sketch == index)
            assert sketch.holds(points.choice[rows]).all()
        assert ((points.sketch >= 0) & (points.sketch < len(space.sketches))).all()


@in_each_space
def test_one_seed_one_search(name, space):
    one, two = (keys(space, run(name, space, good_model, seed=3)) for _ in range(2))
    assert one == two


@of_each
def test_another_seed_another_search(name):
    one, two = (keys(TINY_MATMUL, run(name, TINY_MATMUL, no_model, seed=s)) for s in (3, 4))
    assert one != two


@of_each
def test_asks_for_every_point_of_a_small_space_and_stops(name, small):
    rounds = run(name, small, no_model, rounds=small.size // 8 + 2, size=8)
    assert len(set(keys(small, rounds))) == small.size
    assert len(rounds[-1]) == 0


@of_each
def test_never_asks_for_what_is_excluded(name, small):
    everything = keys(small, run(name, small, no_model, rounds=small.size // 8 + 1, size=8))
    strategy = STRATEGIES[name](small, np.random.default_rng(0))
    strategy.exclude(everything[:-1])
    asked = [strategy.ask(8, no_model), strategy.ask(8, no_model)]
    assert keys(small, asked) == everything[-1:]


@of_each
def test_excludes_what_another_is_measuring_at_any_time(name):
    """Exclusion may come after the strategy has begun, as pending candidates do."""
    strategy = STRATEGIES[name](TINY_MATMUL, np.random.default_rng(0))
    first = keys(TINY_MATMUL, [strategy.ask(16, no_model)])
    everything = keys(TINY_MATMUL, [TINY_MATMUL.everything()])
    pending = [key for key in everything if key not in first][:100]
    strategy.exclude(pending)
    later = keys(TINY_MATMUL, [strategy.ask(16, no_model) for _ in range(6)])
    assert sorted(first + pending + later) == sorted(everything)


@of_each
def test_what_was_told_before_the_first_ask_is_learned_not_asked(name):
    """The log's trials are told and excluded by a job that starts."""
    known = TINY_MATMUL.everything().take(np.arange(40))
    strategy = STRATEGIES[name](TINY_MATMUL, np.random.default_rng(0))
    strategy.exclude(keys(TINY_MATMUL, [known]))
    strategy.tell(known, np.linspace(2.0, 1.0, 40))
    asked = keys(TINY_MATMUL, [strategy.ask(32, good_model)])
    assert len(asked) == 32
    assert set(asked).isdisjoint(keys(TINY_MATMUL, [known]))


@in_each_space
def test_survives_a_space_where_everything_fails(name, space):
    strategy = STRATEGIES[name](space, np.random.default_rng(0))
    for n in range(3):
        points = strategy.ask(8, good_model)
        assert len(points) == min(8, max(0, space.size - 8 * n))
        strategy.tell(points, np.full(len(points), np.nan))


@in_each_space
def test_survives_scores_that_are_all_alike_or_infinite(name, space):
    strategy = STRATEGIES[name](space, np.random.default_rng(0))
    for score in (0.0, np.inf, -np.inf):
        strategy.ask(3, lambda points, s=score: np.full(len(points), s))
    assert len(strategy.ask(3, no_model)) == min(3, max(0, space.size - 9))


@of_each
def test_only_an_exhaustive_search_refuses_a_large_space(name):
    if name != "exhaustive":
        assert len(STRATEGIES[name](MATMUL, np.random.default_rng(0)).ask(1, no_model)) == 1
        return
    with pytest.raises(SearchError, match=r"51516 points; .* 'evolutionary'"):
        STRATEGIES[name](MATMUL, np.random.default_rng(0))
