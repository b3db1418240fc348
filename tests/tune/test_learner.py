"""Which round is asked with which model: what an earlier job saved, or what is fitted."""

from dataclasses import replace

import numpy as np
import pytest

from tests.tune.fake_bench import FakeBench
from tests.tune.jobs import AVX512, MATMUL, SOFTMAX, Silence, job, run
from tuner.log import RecordFilter
from tuner.model.cost import AnalyticModel
from tuner.model.xgb import RankingModel
from tuner.tune import learner
from tuner.tune.loop import tune
from tuner.tune.scheduler import ROUND
from tuner.tune.track import Track


@pytest.fixture(scope="module")
def earlier():
    """The log of a job, and the model that it has saved."""
    bench = FakeBench([MATMUL])
    run(bench, MATMUL, trials=3 * ROUND)
    return bench.log


@pytest.fixture
def events(monkeypatch):
    """What asks for candidates and what fits, in order."""
    found, ask, fit = [], Track.ask, learner.fit

    def asking(track, n, model):
        found.append(("ask", getattr(model, "extent", {})))
        return ask(track, n, model)

    def fitting(examples, seed):
        found.append(("fit", len(examples)))
        return fit(examples, seed)

    monkeypatch.setattr(Track, "ask", asking)
    monkeypatch.setattr(learner, "fit", fitting)
    return found


def log_of(earlier, **changes):
    """A bench whose log has the records of `earlier`, and its model with `changes`."""
    bench = FakeBench([MATMUL, SOFTMAX], job="later")
    bench.log.append(earlier.records(RecordFilter()))
    bench.log.save_model(replace(earlier.model(AVX512.name), **changes))
    return bench


def later(bench, *workloads, trials):
    """Another job on that bench, by a strategy that listens to its model."""
    wanted = job(*workloads, trials=trials, more=True, strategy="evolutionary")
    tune(replace(wanted, id="later"), bench.log, bench, Silence(), bench.clock)


def asked_with(events):
    """How many examples the model of each round was fitted on."""
    return [sum(extent.values()) for kind, extent in events if kind == "ask"]


def test_the_first_two_rounds_use_what_was_saved_and_the_third_knows_the_first(earlier, events):
    known = sum(RankingModel.from_json(earlier.model(AVX512.name).data).extent.values())
    bench = log_of(earlier)
    later(bench, SOFTMAX, trials=4 * ROUND)
    assert [kind for kind, _ in events][:3] == ["ask", "ask", "fit"]
    rest = [known + ROUND, known + 2 * ROUND]
    assert asked_with(events) == [known, known, *rest]


def test_what_to_learn_from_is_loaded_while_the_first_rounds_are_measured(earlier, monkeypatch):
    bench = log_of(earlier)
    collect, load, loaded, waits = bench.collect, learner.Learner.load_some, [], []
    monkeypatch.setattr(
        learner.Learner, "load_some", lambda self: loaded.append(load(self)) or loaded[-1]
    )
    bench.collect = lambda wait_s: waits.append((len(loaded), wait_s)) or collect(wait_s)
    later(bench, SOFTMAX, trials=2 * ROUND)
    # A part of it, and results are looked for without a wait; then nothing is left.
    assert loaded[:2] == [True, False]
    assert waits[0] == (1, 0.0)
    assert waits[1][1] > 0


def test_how_fast_results_come_does_not_matter(earlier):
    stories = []
    for batch in (1, 3 * ROUND):
        bench = log_of(earlier)
        bench.batch, bench.rng = batch, np.random.default_rng(batch)
        later(bench, SOFTMAX, trials=4 * ROUND)
        stories.append([c.id for c in bench.searched()])
    assert stories[0] == stories[1]


def test_what_the_model_does_not_know_half_of_is_fitted_on_the_spot(earlier, events):
    saved = earlier.model(AVX512.name)
    half = 3 * ROUND // 2
    later(log_of(earlier, extent=saved.extent - half + 1), SOFTMAX, trials=ROUND)
    assert events[0][0] == "ask"
    events.clear()
    later(log_of(earlier, extent=saved.extent - half), SOFTMAX, trials=ROUND)
    assert events[0] == ("fit", 3 * ROUND)


def test_a_job_that_has_trials_already_fits_on_the_spot(earlier, events):
    later(log_of(earlier), MATMUL, trials=ROUND)
    assert events[0] == ("fit", 3 * ROUND)


def test_a_model_of_another_job_is_not_saved_again(earlier):
    bench = log_of(earlier)
    saved = bench.log.model(AVX512.name)
    bench.cancel_after = 0
    later(bench, SOFTMAX, trials=ROUND)
    assert bench.log.model(AVX512.name) == saved


def test_without_data_the_machine_model_is_asked_and_not_saved(monkeypatch):
    bench, models, ask = FakeBench([SOFTMAX]), [], Track.ask
    monkeypatch.setattr(
        Track, "ask", lambda track, n, model: models.append(model) or ask(track, n, model)
    )
    run(bench, SOFTMAX, trials=4)
    assert isinstance(models[0], AnalyticModel)
    assert bench.log.model(AVX512.name) is None
