"""The tuning loop: budgets, turns, two rounds in flight, resuming, progress."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.round_robin import RoundRobin
from tests.tune.fake_bench import COMPILER, MACHINE, FakeBench, by_hash
from tests.tune.jobs import AVX512, MATMUL, SOFTMAX, Silence, job, run
from tuner.codegen.kernel import GENERATOR
from tuner.features.table import FEATURE_VERSION
from tuner.log import RecordFilter, steps_key
from tuner.model.xgb import RankingModel
from tuner.record import Purpose
from tuner.search import STRATEGIES
from tuner.tune import learner
from tuner.tune.job import State
from tuner.tune.loop import IN_FLIGHT, tune
from tuner.tune.scheduler import ROUND


class Listening:
    """Keeps what it hears."""

    def __init__(self):
        self.heard = []

    def event(self, kind, data):
        self.heard.append((kind, json.loads(json.dumps(data))))

    def of(self, kind):
        return [data for name, data in self.heard if name == kind]


def test_spends_the_budget_and_serves_the_fastest():
    bench = FakeBench([MATMUL])
    (tuned,) = run(bench, MATMUL)
    assert (tuned.state, tuned.reason, tuned.done, tuned.failed) == (State.DONE, "", 36, 0)
    assert len(bench.searched()) == 36
    records = bench.log.records(RecordFilter(purpose=Purpose.SEARCH))
    assert tuned.best.median_s == min(r.measurement.median_s for r in records)
    assert bench.log.best(MATMUL.hash, AVX512.name)[0] == tuned.best
    assert tuned.best.fingerprint == MACHINE


def test_what_is_served_has_its_source_and_its_numbers():
    bench = FakeBench([MATMUL])
    (tuned,) = run(bench, MATMUL, trials=12)
    best = tuned.best
    assert "tw_" in bench.log.source(best.source_sha256)
    assert best.gflops == pytest.approx(MATMUL.flops / best.median_s / 1e9)
    assert best.peak_share == pytest.approx(
        max(MATMUL.flops, MATMUL.io_bytes) / 1e11 / best.median_s
    )
    assert best.verified
    assert best.ci_s[0] < best.median_s < best.ci_s[1]


def turns(bench):
    """Workload and size of each round."""
    search = [r for r in bench.submitted if r[0].purpose is Purpose.SEARCH]
    return [(r[0].workload, len(r)) for r in search]


def test_the_baseline_takes_turns_and_shares_what_is_left():
    bench = FakeBench([MATMUL, SOFTMAX])
    wanted = job(MATMUL, SOFTMAX, trials=2 * ROUND + 10)
    tune(wanted, bench.log, bench, Silence(), bench.clock, RoundRobin)
    sizes = (ROUND, ROUND, 5, 5)
    assert turns(bench) == list(zip((MATMUL.hash, SOFTMAX.hash) * 2, sizes, strict=True))


def test_the_scheduler_decides_whose_round_is_next():
    # Softmax never improves: after its first round it gets what no task may be denied.
    bench = FakeBench([MATMUL, SOFTMAX], measure=lambda steps: replace(
        by_hash(steps), median_s=by_hash(steps).median_s if is_matmul(steps) else 1e-3
    ))  # fmt: skip
    run(bench, MATMUL, SOFTMAX, trials=8 * ROUND, weights={MATMUL.hash: 9.0})
    asked = Counter(hash for hash, _ in turns(bench))
    assert turns(bench)[:2] == [(MATMUL.hash, ROUND), (SOFTMAX.hash, ROUND)]
    assert asked == {MATMUL.hash: 7, SOFTMAX.hash: 1}


def is_matmul(steps):
    return not any(s["step"] == "rfactor" for s in steps["steps"])


def test_the_machine_never_idles_and_is_never_flooded():
    bench = FakeBench([MATMUL])
    run(bench, MATMUL, trials=6 * ROUND)
    assert bench.deepest == IN_FLIGHT * ROUND


def test_a_round_is_asked_for_only_when_the_last_but_one_is_complete():
    bench = FakeBench([MATMUL])
    seen = []
    submit = bench.submit

    def watched(candidates):
        seen.append(len(bench.known))
        submit(candidates)

    bench.submit = watched
    run(bench, MATMUL, trials=5 * ROUND)
    for n, known in enumerate(seen[2:5], start=2):
        assert known >= (n - 1) * ROUND


def test_the_order_of_results_does_not_matter():
    asked = []
    for seed in (1, 2):
        bench = FakeBench([MATMUL])
        bench.rng = np.random.default_rng(seed)
        run(bench, MATMUL, trials=5 * ROUND, seed=7, strategy="evolutionary")
        asked.append([c.id for c in bench.searched()])
    assert asked[0] == asked[1]


def test_no_schedule_is_measured_twice():
    bench = FakeBench([MATMUL])
    run(bench, MATMUL, trials=60)
    keys = [steps_key(c.steps) for c in bench.searched()]
    assert len(set(keys)) == len(keys)


def test_a_candidate_knows_the_fastest_so_far():
    bench = FakeBench([MATMUL])
    run(bench, MATMUL, trials=3 * ROUND)
    first, last = bench.searched()[0], bench.searched()[-1]
    assert first.timing.incumbent_s is None
    assert last.timing.incumbent_s in {r.measurement.median_s for r in bench.known.values()}


def test_candidates_are_numbered_in_the_order_in_which_the_job_asks():
    bench = FakeBench([MATMUL, SOFTMAX])
    run(bench, MATMUL, SOFTMAX, trials=40)
    asked = [c for round_ in bench.submitted for c in round_]
    assert [c.number for c in asked] == list(range(1, len(asked) + 1))
    numbers = {c.id: c.number for c in asked}
    assert {r.id: r.number for r in bench.log.records(RecordFilter())} == numbers


def test_a_later_life_of_a_job_goes_on_counting():
    bench = FakeBench([MATMUL])
    run(bench, MATMUL, trials=20)
    first = max(r.number for r in bench.log.records(RecordFilter()))
    bench.submitted.clear()
    run(bench, MATMUL, trials=30)
    assert min(c.number for c in bench.searched()) == first + 1


def test_progress_tells_rounds_trials_bests_and_ends():
    heard = Listening()
    bench = FakeBench([MATMUL])
    (tuned,) = run(bench, MATMUL, trials=3 * ROUND, progress=heard)
    rounds = heard.of("round")
    assert [r["asked"] for r in rounds] == [ROUND] * 3
    # Two rounds are in flight: with the third comes what the scores of the first were worth.
    assert [r["accuracy"] is None for r in rounds] == [True, True, False]
    assert rounds[2]["accuracy"]["points"] == ROUND
    assert 0 < rounds[2]["accuracy"]["top_1"] <= 1
    trials = [t for t in heard.of("trial") if t["purpose"] == "search"]
    assert len(trials) == 3 * ROUND
    bests = [b["median_s"] for b in heard.of("best")]
    assert bests == sorted(bests, reverse=True)
    assert heard.of("state") == [
        {"workload": MATMUL.hash, "state": "done", "reason": "", "median_s": tuned.best.median_s}
    ]


def test_the_model_is_saved_and_used_by_the_next_job():
    bench = FakeBench([MATMUL])
    run(bench, MATMUL, trials=3 * ROUND)
    saved = bench.log.model(AVX512.name)
    assert saved.features == FEATURE_VERSION
    assert isinstance(RankingModel.from_json(saved.data), RankingModel)
    assert saved.extent == 3 * ROUND


def test_other_workloads_teach_the_first_round(monkeypatch):
    bench = FakeBench([MATMUL])
    run(bench, MATMUL, trials=3 * ROUND)
    taught = []
    fit = learner.fit
    monkeypatch.setattr(
        learner, "fit", lambda examples, seed: taught.append(examples) or fit(examples, seed)
    )
    later = FakeBench([MATMUL, SOFTMAX], job="later")
    later.log.append(bench.log.records(RecordFilter()))
    tune(replace(job(SOFTMAX, trials=12), id="later"), later.log, later, Silence(), later.clock)
    assert len(taught[0]) == 3 * ROUND
    assert set(taught[0].group) == {f"{MATMUL.hash}/{AVX512.name}/{MACHINE}/{GENERATOR}/{COMPILER}"}


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_strategies_by_name(strategy):
    (tuned,) = run(FakeBench([SOFTMAX]), SOFTMAX, trials=20, strategy=strategy)
    assert (tuned.state, tuned.done) == (State.DONE, 20)
