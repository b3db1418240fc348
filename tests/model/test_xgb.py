"""The learned model: it learns, repeats, forgets failures, and is saved as plain JSON."""

import json

import numpy as np
import pytest

from tuner.features.table import FEATURE_VERSION, FEATURES
from tuner.model import xgb
from tuner.model.cost import NO_EXAMPLES, Examples, together
from tuner.model.xgb import MIN_EXAMPLES, RankingModel, fit

WIDTH = len(FEATURES)
READ = [list(FEATURES).index(name) for name in ("main_accumulators", "main_pages")]


def examples(n, seed=0, group="w/m", scale=1.0):
    """Times that follow from two features which the machine model does not look at."""
    rng = np.random.default_rng(seed)
    table = np.ones((n, WIDTH))
    table[:, READ] = rng.uniform(1, 100, (n, 2))
    seconds = scale * (1 + (table[:, READ[0]] > 50) * 3 + table[:, READ[1]] / 25)
    return Examples(table, seconds, (group,) * n)


def agreement(model, held):
    """Share of pairs that are ranked as they were timed."""
    scores = model.scores(held.table)
    better = held.seconds[:, None] < held.seconds[None, :]
    return (scores[:, None] > scores[None, :])[better].mean()


def test_it_learns_to_rank():
    model = fit(examples(200), seed=0)
    assert agreement(model, examples(100, seed=1)) > 0.85


def test_groups_of_other_speed_do_not_disturb():
    data = together([examples(120), examples(120, seed=2, group="v/m", scale=1e3)])
    assert agreement(fit(data, seed=0), examples(100, seed=1)) > 0.8


def test_too_few_examples_are_no_model():
    assert fit(examples(MIN_EXAMPLES - 1), seed=0) is None
    assert fit(NO_EXAMPLES, seed=0) is None


def test_failed_trials_are_left_out():
    good, bad = examples(60), examples(40, seed=3)
    failed = Examples(bad.table, np.full(40, np.nan), bad.group)
    one, two = fit(good, seed=0), fit(together([good, failed]), seed=0)
    table = examples(30, seed=4).table
    np.testing.assert_array_equal(one.scores(table), two.scores(table))
    assert fit(failed, seed=0) is None


def test_one_seed_one_model():
    table = examples(30, seed=4).table
    one, two = (fit(examples(60), seed=5).scores(table) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_only_the_newest_examples_are_used(monkeypatch):
    monkeypatch.setattr(xgb, "MAX_EXAMPLES", 50)
    table = examples(30, seed=4).table
    old, new = examples(30, seed=6), examples(50)
    np.testing.assert_array_equal(
        fit(together([old, new]), seed=0).scores(table), fit(new, seed=0).scores(table)
    )


def test_saved_and_loaded_it_scores_the_same():
    model = fit(examples(60), seed=0)
    data = model.to_json()
    assert "learner" in json.loads(data)
    table = examples(30, seed=4).table
    np.testing.assert_array_equal(RankingModel.from_json(data).scores(table), model.scores(table))


def test_another_feature_version_is_refused():
    data = json.loads(fit(examples(60), seed=0).to_json())
    data["learner"]["attributes"]["tilewright_features"] = "f0"
    with pytest.raises(ValueError, match=f"reads features f0, these are {FEATURE_VERSION}"):
        RankingModel.from_json(json.dumps(data).encode())


def test_a_model_says_what_it_was_fitted_on_and_how():
    failed = Examples(np.ones((5, WIDTH)), np.full(5, np.nan), ("v/m",) * 5)
    model = fit(together([examples(60), examples(30, group="v/m"), failed]), seed=9)
    again = RankingModel.from_json(model.to_json())
    assert again.extent == model.extent == {"w/m": 60, "v/m": 30}
    assert again.parameters["seed"] == 9
    assert again.parameters["objective"] == "rank:pairwise"


def test_a_model_that_does_not_say_is_refused():
    data = json.loads(fit(examples(60), seed=0).to_json())
    del data["learner"]["attributes"]["tilewright_extent"]
    with pytest.raises(ValueError, match="does not say what it was fitted on"):
        RankingModel.from_json(json.dumps(data).encode())


@pytest.mark.parametrize("value", [0.0, 1e300, np.inf, -np.inf, np.nan])
def test_constant_and_infinite_features_do_no_harm(value):
    data, held = examples(200), examples(100, seed=1)
    column = list(FEATURES).index("program_intensity")
    for table in (data.table, held.table):
        table[:, column] = value
    assert agreement(fit(data, seed=0), held) > 0.85


def test_infinite_cycles_leave_scores_finite():
    table = examples(30).table
    table[3, list(FEATURES).index("cycles_compute")] = np.inf
    scores = fit(examples(60), seed=0).scores(table)
    assert np.isfinite(scores).all()
    assert scores.argmin() == 3


def test_points_that_are_all_alike_teach_nothing_and_harm_nothing():
    table = np.ones((40, WIDTH))
    model = fit(Examples(table, np.full(40, 1e-3), ("w/m",) * 40), seed=0)
    assert len(set(model.scores(table))) == 1


@pytest.mark.parametrize("data", [b"", b"\x80\x04}.", b"[]", b"{}"])
def test_what_is_no_model_is_refused(data):
    with pytest.raises(ValueError, match="not a saved cost model"):
        RankingModel.from_json(data)


def test_no_points_have_no_scores():
    assert len(fit(examples(60), seed=0).scores(np.empty((0, WIDTH)))) == 0
