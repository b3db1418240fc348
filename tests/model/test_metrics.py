"""Metrics of scores against times, on cases worked out by hand."""

from itertools import combinations, permutations

import numpy as np
import pytest

from tuner.model import metrics
from tuner.model.metrics import accuracy, top_of_tasks

#: 1, 1/2, 1/4 and 1/8 of the best throughput
SECONDS = np.array([2.0, 1.0, 8.0, 4.0])
RIGHT = -np.log2(SECONDS)


def test_log2_of_the_speed_is_without_error():
    found = accuracy(RIGHT + 7, SECONDS)
    assert found == metrics.Accuracy(4, pytest.approx(0.0), 1.0, 1.0, 1.0, 1.0)


def test_equal_scores_know_nothing():
    found = accuracy(np.zeros(4), SECONDS)
    # Foretold are four ones; 0, 1/2, 3/4 and 7/8 are missing.
    assert found.rmse == pytest.approx(np.sqrt((0 + 1 / 4 + 9 / 16 + 49 / 64) / 4))
    assert found.pairwise == 0.5


def test_half_the_scale_has_an_error():
    # Foretold are 1, 1/2, 1/4 … to the power of a half.
    wrong = [0, 1 / np.sqrt(2) - 1 / 2, 1 / 2 - 1 / 4, 1 / np.sqrt(8) - 1 / 8]
    assert metrics.rmse(RIGHT / 2, SECONDS) == pytest.approx(np.sqrt(np.mean(np.square(wrong))))


def test_pairs_that_are_turned_around():
    # Of six pairs one is right, that of 1 s and 2 s, and one undecided.
    scores = np.array([1.0, 2.0, 3.0, 3.0])
    assert metrics.pairwise(scores, SECONDS) == pytest.approx((1 + 0.5) / 6)
    assert metrics.pairwise(-RIGHT, SECONDS) == 0.0


def test_points_of_equal_time_are_no_pair():
    assert metrics.pairwise(np.array([1.0, 2.0]), np.array([3.0, 3.0])) == 0.5
    assert metrics.pairwise(np.array([1.0, 2.0, 0.0]), np.array([3.0, 3.0, 4.0])) == 1.0


def test_recall_counts_how_many_of_the_fastest_are_found():
    scores = np.array([3.0, 1.0, 4.0, 2.0])
    assert metrics.recall(scores, SECONDS, 1) == 0.0
    assert metrics.recall(scores, SECONDS, 2) == 0.5
    assert metrics.recall(scores, SECONDS, 4) == metrics.recall(scores, SECONDS, 9) == 1.0


def test_the_top_score_is_the_share_of_the_best_speed():
    scores = np.array([2.0, 0.0, 3.0, 1.0])
    assert [metrics.top(scores, SECONDS, k) for k in (1, 2, 3, 4)] == [1 / 8, 1 / 2, 1 / 2, 1]


def test_the_top_score_of_tasks_is_a_ratio_of_sums():
    one, two = np.array([1.0, 2.0]), np.array([10.0, 5.0])
    # Picked are 2 s and 5 s, possible were 1 s and 5 s.
    scores = [np.array([0.0, 1.0])] * 2
    assert top_of_tasks(scores, [one, two], [1.0, 1.0], 1) == pytest.approx(6 / 7)
    assert top_of_tasks(scores, [one, two], [10.0, 1.0], 1) == pytest.approx(15 / 25)
    assert top_of_tasks(scores, [one, two], [10.0, 1.0], 2) == 1.0


def test_the_random_pick_is_the_mean_over_all_orders():
    for k in (1, 2, 3):
        orders = [metrics.top(np.array(p), SECONDS, k) for p in permutations(range(4))]
        choices = [1 / min(SECONDS[list(c)]) for c in combinations(range(4), k)]
        assert metrics.random_top(SECONDS, k) == pytest.approx(np.mean(orders))
        assert metrics.random_top(SECONDS, k) == pytest.approx(np.mean(choices))
    assert metrics.random_top(SECONDS, 9) == 1.0


def test_failed_trials_are_left_out():
    scores, seconds = np.append(RIGHT, 99.0), np.append(SECONDS, np.nan)
    assert accuracy(scores, seconds) == accuracy(RIGHT, SECONDS)
    assert accuracy(scores[4:], seconds[4:]) is None
    assert accuracy(np.empty(0), np.empty(0)) is None


def test_one_point_is_its_own_best():
    assert accuracy(np.zeros(1), np.ones(1)) == metrics.Accuracy(1, 0.0, 0.5, 1.0, 1.0, 1.0)
