"""The benchmarks of searches do what their pages say."""

import numpy as np
import pytest

from benchmarks import noise, scheduling, search
from benchmarks.round_robin import RoundRobin
from benchmarks.search import Curve
from benchmarks.simulated import Points, operator
from tuner.log import RecordFilter
from tuner.record import Purpose
from tuner.tune.scheduler import GainScheduler
from workers.simulate.truth import simulated_seconds

SOFTMAX = {"op": "softmax", "sizes": {"rows": 4, "cols": 64}, "dtype": "f32"}


@pytest.fixture(scope="module")
def points():
    return Points(operator("softmax", SOFTMAX["sizes"]), 200, seed=0)


def test_a_curve_reaches_what_it_has_been_as_fast_as():
    curve = Curve([3.0, 2.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0])
    assert [curve.reaches(s) for s in (3.0, 2.5, 1.0, 0.5)] == [1, 2, 4, None]


def test_a_comparison_names_the_bar_and_who_reached_it(capsys):
    def curves(*lasts):
        return [Curve([4.0] * 7 + [last], [float(n) for n in range(1, 9)]) for last in lasts]

    search.compare("w", {"random": curves(2.0, 3.0, 4.0), "evolutionary, cold": curves(1.0, 3.5)})
    _, _, _, _, _, random, cold = capsys.readouterr().out.splitlines()
    assert random.startswith("| random | 0.33 (0.25 … 0.50) |")
    assert random.endswith("| 8 (8 … 8) | 8.0 (8.0 … 8.0) | 2 of 3 |")
    assert cold.endswith("| 1 of 2 |")


def test_what_was_served_is_compared_where_it_is_known(capsys):
    def curves(*served):
        return [Curve([4.0], [1.0], seconds) for seconds in served]

    known = {"random": curves(2.0, 4.0, 8.0), "evolutionary, cold": curves(2.5, 5.0)}
    search.compare_served(known)
    *_, random, cold = capsys.readouterr().out.splitlines()
    assert random == "| random | 4000.0000 ms | 0.50 (0.25 … 1.00) | 1.000 | 2 of 3 |"
    assert cold == "| evolutionary, cold | 3750.0000 ms | 0.60 (0.40 … 0.80) | 1.067 | 1 of 2 |"
    search.compare_served({**known, "evolutionary, cold": curves(None)})
    assert capsys.readouterr().out == ""


def test_a_simulated_search_only_gets_faster(monkeypatch):
    monkeypatch.setattr(search, "EVOLVED_TRIALS", 8)
    monkeypatch.setattr(search, "RANDOM_TRIALS", 8)
    for strategy in ("random", "evolutionary, cold"):
        curve = search.simulated(SOFTMAX, strategy, 0)
        assert len(curve.best_s) == len(curve.at_s) == 8
        assert curve.best_s == sorted(curve.best_s, reverse=True)
        assert curve.at_s == sorted(curve.at_s)


def test_a_warm_search_starts_from_the_donors_only(monkeypatch):
    monkeypatch.setattr(search, "DONORS", [SOFTMAX])
    monkeypatch.setattr(search, "DONOR_TRIALS", 3)
    log, again = search._warm_log(7), search._warm_log(7)
    assert log is not again
    where = RecordFilter(purpose=Purpose.SEARCH)
    assert len(log.records(where)) == len(again.records(where)) == 3


def test_points_know_their_truth(points):
    true = points.true_s(3)
    schedule = points.space.schedule(points.points, 5)
    program = points.workload.program
    assert true[5] == simulated_seconds(program, schedule, points.hardware, 3)


def test_without_noise_nobody_misses_the_fastest(points):
    contest = noise.Contest(points)
    assert contest.losses(0, 0.0) == (0.0, 0.0)
    alone, played = zip(*(contest.losses(seed, 0.3) for seed in range(8)), strict=True)
    assert np.mean(played) < np.mean(alone)


def test_where_everything_is_measured_turns_do_not_matter(points):
    model = [(points, 3.0), (Points(operator("relu", {"n": 64}), 8, seed=0), 1.0)]
    ends = {
        scheduling.end_to_end(model, 10_000, 0, 8, made) for made in (GainScheduler, RoundRobin)
    }
    assert len(ends) == 1
