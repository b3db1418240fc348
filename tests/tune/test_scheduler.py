"""The task scheduler: shares, giving up, state from the log; what it gains over taking turns."""

import math

import numpy as np
import pytest

from benchmarks.round_robin import RoundRobin
from tuner.tune.scheduler import GIVE_UP, MIN_SHARE, ROUND, GainScheduler, Turn

#: seconds of a trial: base * (1 + spread * u^shape), None where every trial fails
EASY = (1e-4, 10.0, 4.0)
HARD = (1e-2, 20.0, 0.3)


class Race:
    """A scheduler at work, two rounds in flight, on made-up tasks."""

    def __init__(self, scheduler, tasks, seed=0):
        self.scheduler, self.tasks = scheduler, tasks
        self.rngs = [np.random.default_rng((seed, i)) for i in range(len(tasks))]
        self.given = [0] * len(tasks)
        self.best = [math.inf] * len(tasks)
        #: (task, seconds of its round), in the order of issue
        self.rounds = []
        self.told = 0

    def run(self, trials, watch=lambda race: None):
        issued = sum(self.given)
        while issued < trials:
            turn = self.scheduler.next(trials - issued)
            if turn is None:
                break
            self.scheduler.asked(turn.task, turn.size)
            issued += turn.size
            self.given[turn.task] += turn.size
            self.rounds.append((turn.task, self._measure(turn)))
            watch(self)
            if len(self.rounds) - self.told == 2:
                self._tell()
        while self.told < len(self.rounds):
            self._tell()
        return self

    def _measure(self, turn):
        if self.tasks[turn.task] is None:
            return [math.nan] * turn.size
        base, spread, shape = self.tasks[turn.task]
        return list(base * (1 + spread * self.rngs[turn.task].random(turn.size) ** shape))

    def _tell(self):
        task, seconds = self.rounds[self.told]
        self.told += 1
        self.scheduler.told(task, seconds)
        self.best[task] = min([self.best[task], *(s for s in seconds if not math.isnan(s))])


def end_to_end(make, tasks, weights, trials, seed):
    race = Race(make(weights), tasks, seed).run(trials)
    return sum(w * b for w, b in zip(weights, race.best, strict=True))


@pytest.mark.parametrize("seed", range(8))
def test_no_live_task_starves(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 12))
    tasks = [None if rng.random() < 0.2 else (10 ** rng.uniform(-6, -1), 10, 0.5)
             for _ in range(count)]  # fmt: skip

    def watch(race):
        live = [i for i in range(count) if not scheduler.given_up(i)]
        equal = sum(race.given[i] for i in live) / max(1, len(live))
        for i in live:
            assert race.given[i] >= MIN_SHARE * equal - ROUND

    scheduler = GainScheduler(list(10 ** rng.uniform(-2, 2, size=count)))
    race = Race(scheduler, tasks, seed).run(48 * count, watch)
    assert sum(race.given) == 48 * count


def test_each_task_is_asked_before_any_is_asked_again():
    race = Race(GainScheduler([1e6, 1.0, 1.0]), [HARD, EASY, EASY]).run(6 * ROUND)
    assert [task for task, _ in race.rounds[:3]] == [0, 1, 2]


def test_first_rounds_take_half_of_a_small_budget():
    race = Race(GainScheduler([1.0, 1e-6, 1e-6]), [HARD] * 3).run(36)
    assert [(task, len(seconds)) for task, seconds in race.rounds[:3]] == [(0, 6), (1, 6), (2, 6)]
    assert race.given == [24, 6, 6]


def test_fewer_trials_than_tasks_go_to_the_first():
    assert Race(GainScheduler([1.0] * 3), [HARD] * 3).run(2).given == [1, 1, 0]


def test_a_single_task_has_whole_rounds():
    assert GainScheduler([1.0]).next(20) == Turn(0, ROUND)


def test_what_weighs_and_can_still_fall_gets_most():
    assert np.argmax(Race(GainScheduler([1.0, 1.0]), [EASY, HARD]).run(20 * ROUND).given) == 1
    # Often enough, the fast one takes longest.
    assert np.argmax(Race(GainScheduler([1e4, 1.0]), [EASY, HARD]).run(20 * ROUND).given) == 0


def test_a_dead_task_is_given_up_and_the_others_go_on():
    scheduler = GainScheduler([100.0, 1.0])
    race = Race(scheduler, [None, EASY]).run(1000)
    assert (scheduler.given_up(0), scheduler.given_up(1)) == (True, False)
    assert GIVE_UP <= race.given[0] <= GIVE_UP + 2 * ROUND
    assert sum(race.given) == 1000


def test_where_all_are_dead_nobody_is_next():
    race = Race(GainScheduler([1.0, 1.0]), [None, None]).run(1000)
    assert race.scheduler.next(1000 - sum(race.given)) is None
    assert max(race.given) <= GIVE_UP + 2 * ROUND


def test_one_success_keeps_a_task_alive():
    scheduler = GainScheduler([1.0])
    scheduler.asked(0, GIVE_UP)
    scheduler.told(0, [math.nan] * (GIVE_UP - 1) + [1.0])
    assert not scheduler.given_up(0)
    assert scheduler.next(5) == Turn(0, 5)


def test_failures_of_earlier_jobs_are_no_reason_to_give_up():
    scheduler = GainScheduler([1.0])
    scheduler.known(0, [math.nan] * 10 * GIVE_UP)
    assert scheduler.next(100) == Turn(0, ROUND)


def test_a_closed_task_is_not_next():
    scheduler = GainScheduler([1.0, 1.0])
    scheduler.close(0)
    assert scheduler.next(9) == Turn(1, 3)
    scheduler.close(1)
    assert scheduler.next(9) is None


@pytest.mark.parametrize("trials", [40, 200, 333])
def test_the_log_told_anew_gives_the_same_state(trials):
    weights, tasks = [1.0, 5.0, 2.0], [EASY, HARD, None]
    race = Race(GainScheduler(weights), tasks).run(trials)
    again = GainScheduler(weights)
    for task in range(3):
        own = [s for other, round_ in race.rounds if other == task for s in round_]
        again.asked(task, len(own))
        again.told(task, own)
    assert again.tasks == race.scheduler.tasks
    assert again.next(50) == race.scheduler.next(50)


def test_the_same_results_give_the_same_turns():
    one, two = (Race(GainScheduler([1.0, 3.0]), [HARD, EASY], 5).run(300) for _ in range(2))
    assert one.rounds == two.rounds


def test_a_plateau_is_left_for_a_slope():
    scheduler = GainScheduler([1.0, 1.0])
    for task, seconds in enumerate((np.full(64, 1.0), np.geomspace(2.0, 1.0, 64))):
        scheduler.asked(task, 64)
        scheduler.told(task, list(seconds))
    assert scheduler.next(100) == Turn(1, ROUND)


def test_it_beats_taking_turns():
    ratios = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        tasks = [(10 ** rng.uniform(-5, -2), 10.0, rng.choice((0.2, 0.5, 1.0))) for _ in range(6)]
        weights = list(rng.choice((1.0, 2.0, 16.0), size=6))
        ours, turns = (
            end_to_end(make, tasks, weights, 32 * len(tasks), seed)
            for make in (GainScheduler, RoundRobin)
        )
        ratios.append(ours / turns)
    assert np.median(ratios) < 0.98
    assert np.mean(ratios) < 0.98
