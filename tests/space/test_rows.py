"""Nests that go over rows: vectors, the next row fetched early, rows shared by threads."""

import numpy as np
import pytest

from tests.schedule.equivalence import assert_same
from tests.space.programs import PROGRAMS, operator
from tuner.features.table import FEATURES, features
from tuner.schedule.loop_steps import Parallel, Prefetch
from tuner.schedule.steps import Rfactor, Split
from tuner.space.build import space_of
from tuner.target import target

AVX512 = target("cpu-avx512-1t")


def test_rows_of_softmax_are_folded_in_vectors():
    space = space_of(PROGRAMS["softmax"], AVX512)
    schedule = space.schedule(space.sample(np.random.default_rng(0), 1), 0)
    assert Rfactor in {type(step) for step in schedule}
    assert space.sketches[0].name == "row-wise 0: fold, map, fold, map"


@pytest.mark.parametrize(("op", "places"), [("softmax", 1), ("layer_norm", 2), ("gelu", 0)])
def test_later_loops_over_a_row_may_fetch_the_next_one(op, places):
    sizes = {"n": 320} if op == "gelu" else {"rows": 6, "cols": 40}
    program = operator(op, **sizes)
    space = space_of(program, AVX512)
    population = space.sample(np.random.default_rng(0), 48)
    found = {}
    for row in range(48):
        schedule = space.schedule(population, row)
        assert space.recover(schedule).keys() == population.take(np.array([row])).keys()
        found |= {s: schedule for s in schedule if isinstance(s, Prefetch)}
    assert len({step.loop for step in found}) == places
    for step, schedule in found.items():
        width = next(s.factor for s in schedule if isinstance(s, Split) and s.outer == step.loop)
        assert (step.buffer, step.ahead) == ("b0", -(-40 // width))
        assert_same(program, schedule, rtol=1e-5)


@pytest.mark.parametrize("op", ["softmax", "layer_norm", "rms_norm"])
def test_threads_may_share_the_rows(op):
    program, two = operator(op, rows=6, cols=40), target("cpu-avx512-2t")
    space = space_of(program, two)
    population = space.sample(np.random.default_rng(0), 16)
    schedules = [space.schedule(population, row) for row in range(16)]
    spread = [Parallel("l0") in schedule for schedule in schedules]
    assert set(spread) == {True, False}
    teams = features(program, space, population, two)[:, list(FEATURES).index("teams")]
    assert (teams > 0).tolist() == spread
    assert_same(program, schedules[spread.index(True)], rtol=1e-5)
