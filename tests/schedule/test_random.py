"""Whatever random steps are accepted, the program means the same afterwards."""

import random
from itertools import permutations

import pytest

from tests.schedule.equivalence import assert_equal_programs
from tests.schedule.programs import conv2d, dense_relu, matmul
from tests.schedule.random_programs import random_program, random_recurrence
from tests.schedule.random_steps import random_schedule
from tuner.errors import ScheduleError
from tuner.schedule.apply import apply
from tuner.schedule.steps import (
    CacheWrite,
    Reorder,
    Split,
    Vectorize,
    schedule_from_json,
    schedule_to_json,
    step_text,
)


def _check(program, seed, tries):
    schedule, scheduled = random_schedule(program, seed, tries)
    assert schedule_from_json(schedule_to_json(schedule)) == schedule
    assert apply(program, schedule) == scheduled
    try:
        assert_equal_programs(program, scheduled)
    except Exception:
        print("\n".join(step_text(step) for step in schedule))
        raise
    return len(schedule)


@pytest.mark.parametrize("block", range(8))
def test_random_programs(block):
    seeds = range(block * 12, block * 12 + 12)
    accepted = [_check(random_program(random.Random(seed)), seed, 40) for seed in seeds]
    assert sum(accepted) > 60


@pytest.mark.parametrize(
    "program",
    [matmul(5, 7, 3), matmul(1, 4, 2), dense_relu(5, 6, 4), conv2d(2, 4, 3, 3, 1)],
    ids=["matmul", "row", "dense", "conv2d"],
)
@pytest.mark.parametrize("block", range(2))
def test_operators(program, block):
    seeds = range(block * 8, block * 8 + 8)
    assert sum(_check(program, seed, 30) for seed in seeds) > 20


RECURRENCE_STEPS = (
    *((Reorder(order),) for order in permutations("ijk")),
    *((Reorder((*(n for n in "ijk" if n != last), last)), Vectorize(last)) for last in "ijk"),
    (Split("j", 2, "j0", "j1"), Reorder(("i", "j0", "k", "j1"))),
    (Split("k", 2, "k0", "k1"), Reorder(("k0", "i", "j", "k1")), Vectorize("k1")),
    *((CacheWrite("y", n, "c", (1, 0), ("t", "u"), ("v", "w")),) for n in "ijk"),
)


def test_every_order_and_lane_of_random_recurrences():
    accepted = refused = 0
    for seed in range(60):
        program = random_recurrence(random.Random(seed))
        for schedule in RECURRENCE_STEPS:
            try:
                scheduled = apply(program, schedule)
            except ScheduleError:
                refused += 1
                continue
            accepted += 1
            assert_equal_programs(program, scheduled)
    assert accepted > 100
    assert refused > 100
