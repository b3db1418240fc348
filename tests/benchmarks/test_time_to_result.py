"""When a tuning was as fast as another's result, on the clock of one moment."""

from __future__ import annotations

import pytest

from benchmarks.peers.catalogue import WORKLOADS
from benchmarks.peers.times import Row, Times
from benchmarks.time_to_result import HEAD, Point, Race, best_of_batches, best_so_far, reached
from tuner.record import Peaks

TRIALS = [(1.0, 5.0), (2.0, None), (3.0, 6.0), (4.0, 3.0), (5.0, 3.0), (6.0, 1.0)]
CURVE = [Point(1.0, 1, 5.0), Point(4.0, 4, 3.0), Point(6.0, 6, 1.0)]


def race(tvm_now_s: float, ours_now_s: float, served_s: float) -> Race:
    times = {
        name: Times(s, (s, s), s, 30)
        for name, s in (("tvm", tvm_now_s), ("tilewright", ours_now_s))
    }
    versions = {"tvm": "tvm 1", "tilewright": "tilewright"}
    limits = Peaks(flops_per_s=1e9, copy_bytes_per_s=1e9)
    row = Row(WORKLOADS["W1"], 1, limits, times, {}, versions)
    return Race(row, 40.0, [Point(20.0, 64, 3.5)], CURVE, served_s)


def test_failed_and_slower_trials_are_counted_and_leave_the_best_as_it_is() -> None:
    assert best_so_far(TRIALS) == CURVE


def test_a_batch_in_which_all_failed_has_no_point() -> None:
    steps = [
        {"wall_s": 1.0, "trials": 64, "best_s": None},
        {"wall_s": 2.0, "trials": 128, "best_s": 3.0},
        {"wall_s": 3.0, "trials": 192, "best_s": 3.0},
    ]
    assert best_of_batches(steps) == [Point(2.0, 128, 3.0)]


def test_the_first_point_that_is_as_fast_counts() -> None:
    assert reached(CURVE, 3.0) == CURVE[1]
    assert reached(CURVE, 0.5) is None


def test_our_records_are_brought_to_the_clock_of_the_comparison() -> None:
    same = race(tvm_now_s=3.0, ours_now_s=1.0, served_s=1.0)
    assert (same.goal, same.ratio) == (CURVE[1], 10.0)
    slower_now = race(tvm_now_s=3.0, ours_now_s=2.0, served_s=1.0)
    assert slower_now.goal == CURVE[2]
    assert slower_now.ratio == pytest.approx(40 / 6)


def test_a_result_that_was_not_reached_has_no_ratio() -> None:
    lost = race(tvm_now_s=0.5, ours_now_s=1.0, served_s=1.0)
    assert (lost.goal, lost.ratio, lost.to_json()["ratio"]) == (None, None, None)
    assert lost.cells()[5:7] == ["not reached", ""]
    assert len(lost.cells()) == len(HEAD)


def test_trials_are_also_compared_as_they_were_recorded() -> None:
    found = race(tvm_now_s=0.5, ours_now_s=1.0, served_s=1.0)
    assert found.claimed == CURVE[1]
    assert found.cells()[-1] == "4.0 s (4)"
