"""The tuning loop: budgets, turns, two rounds in flight, resuming, and every way to end."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.tune.fake_bench import MACHINE, FakeBench, by_hash, failing
from tuner.codegen.kernel import generate
from tuner.errors import Conflict, EmptySpaceError
from tuner.features.table import FEATURE_VERSION
from tuner.frontends.text import parse
from tuner.log import RecordFilter, steps_key
from tuner.model.xgb import RankingModel
from tuner.record import Measurement, Outcome, Purpose
from tuner.schedule.steps import schedule_from_json
from tuner.target import target
from tuner.tune import loop
from tuner.tune.job import Silence, State, TuneJob
from tuner.tune.loop import IN_FLIGHT, ROUND, tune
from tuner.workload.catalogue import program_text
from tuner.workload.workload import admit

AVX512 = target("cpu-avx512-1t")


def workload(op, **sizes):
    return admit(parse(program_text(op, sizes)), op, sizes)


MATMUL = workload("matmul", m=48, n=48, k=48)
SOFTMAX = workload("softmax", rows=4, cols=256)
#: 16 points
SMALL = workload("softmax", rows=2, cols=32)


def job(*workloads, trials=36, seconds=1e6, strategy="random", **changes):
    return TuneJob(
        id="job", workloads=workloads, target=AVX512, trials=trials, seconds=seconds,
        strategy=strategy, **changes,
    )  # fmt: skip


def run(bench, *workloads, progress=None, **changes):
    wanted = job(*workloads, **changes)
    return tune(wanted, bench.log, bench, progress or Silence(), bench.clock)


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


def test_workloads_take_turns():
    bench = FakeBench([MATMUL, SOFTMAX])
    run(bench, MATMUL, SOFTMAX, trials=4 * ROUND)
    search = [r for r in bench.submitted if r[0].purpose is Purpose.SEARCH]
    assert [r[0].workload for r in search] == [MATMUL.hash, SOFTMAX.hash] * 2


def test_the_last_turns_share_what_is_left():
    bench = FakeBench([MATMUL, SOFTMAX])
    run(bench, MATMUL, SOFTMAX, trials=2 * ROUND + 10)
    search = [len(r) for r in bench.submitted if r[0].purpose is Purpose.SEARCH]
    assert search == [ROUND, ROUND, 5, 5]


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


def test_another_job_measures_nothing_again():
    bench = FakeBench([SMALL])
    run(bench, SMALL, trials=10)
    later = FakeBench([SMALL], log=bench.log, job="later")
    (tuned,) = tune(
        replace(job(SMALL, trials=100), id="later"), later.log, later, Silence(), later.clock
    )
    assert len(later.searched()) == 6
    assert (tuned.state, tuned.done) == (State.DONE, 6)
    assert tuned.reason == "no unmeasured point of the space was left"


def test_a_candidate_knows_the_fastest_so_far():
    bench = FakeBench([MATMUL])
    run(bench, MATMUL, trials=3 * ROUND)
    first, last = bench.searched()[0], bench.searched()[-1]
    assert first.timing.incumbent_s is None
    assert last.timing.incumbent_s in {r.measurement.median_s for r in bench.known.values()}


def test_a_killed_loop_goes_on_where_it_was():
    bench = FakeBench([MATMUL])
    collect, rounds = bench.collect, iter(range(7))

    def dying(wait_s):
        if next(rounds, None) is None:
            raise Conflict("another tuner has the job")
        return collect(wait_s)

    bench.collect = dying
    with pytest.raises(Conflict):
        run(bench, MATMUL, trials=60)
    assert bench.queue
    measured = len(bench.known)
    bench.collect = collect
    (tuned,) = run(bench, MATMUL, trials=60)
    assert 0 < measured < 60
    assert (tuned.state, tuned.done) == (State.DONE, 60)
    keys = [steps_key(r.steps) for r in bench.log.records(RecordFilter(purpose=Purpose.SEARCH))]
    assert len(keys) == len(set(keys)) == 60


def test_a_loop_killed_in_the_play_off_does_not_repeat_it():
    bench = FakeBench([MATMUL])
    run(bench, MATMUL, trials=12)
    before = len(bench.log.records(RecordFilter()))
    (tuned,) = run(bench, MATMUL, trials=12)
    assert len(bench.log.records(RecordFilter())) == before
    assert tuned.best.ci_s is not None


def test_all_failed_ends_failed_with_the_reason():
    bench = FakeBench([MATMUL, SOFTMAX])

    def measure(steps):
        folds = any(s["step"] == "rfactor" for s in steps["steps"])
        return by_hash(steps) if folds else failing(steps)

    bench.measure = measure
    matmul, softmax = run(bench, MATMUL, SOFTMAX, trials=48)
    assert matmul.state is State.FAILED
    assert matmul.reason == (
        "no candidate passed: wrong_result 24; the first said: b2[0] is 3, expected 4"
    )
    assert (matmul.failed, matmul.failures, matmul.best) == (24, {"wrong_result": 24}, None)
    assert softmax.state is State.DONE


def test_failures_are_counted_and_never_served():
    def measure(steps):
        found = by_hash(steps)
        return found if found.source_sha256 > "8" else failing(steps)

    bench = FakeBench([MATMUL], measure=measure)
    (tuned,) = run(bench, MATMUL, trials=48)
    assert tuned.done == 48
    assert tuned.failures == {"wrong_result": tuned.failed}
    assert 10 < tuned.failed < 40


def test_an_empty_space_fails_its_workload_only(monkeypatch):
    def no_space(program, hardware):
        raise EmptySpaceError("no point satisfies 'it is Sunday'")

    bench = FakeBench([MATMUL])
    monkeypatch.setattr("tuner.tune.track.space_of", no_space)
    (tuned,) = run(bench, MATMUL)
    assert tuned.state is State.FAILED
    assert tuned.reason == "no schedule to try: no point satisfies 'it is Sunday'"


def test_seconds_end_the_search_and_what_waits_is_withdrawn():
    bench = FakeBench([MATMUL])
    (tuned,) = run(bench, MATMUL, trials=1000, seconds=1.0)
    assert bench.withdrawn > 0
    assert tuned.state is State.DONE
    assert 0 < tuned.done < 100
    assert tuned.best.ci_s is not None


def test_no_seconds_measure_nothing():
    (tuned,) = run(FakeBench([MATMUL]), MATMUL, seconds=0.0)
    assert (tuned.state, tuned.done) == (State.FAILED, 0)
    assert tuned.reason == "no candidate was measured before the job ended"


def test_cancelling_keeps_the_best_so_far():
    bench = FakeBench([MATMUL])
    # The search trial that is served must carry its real source.
    bench.measure = lambda steps: replace(by_hash(steps), source_sha256=real_sum(steps))
    bench.cancel_after = 17
    (tuned,) = run(bench, MATMUL, trials=1000)
    assert (tuned.state, tuned.reason) == (State.CANCELLED, "the job was cancelled")
    assert not bench.queue
    assert not bench.played()
    assert tuned.best is not None
    assert tuned.best.ci_s is None


def real_sum(steps):
    """The sum of the source that a matmul schedule gives."""
    return generate(MATMUL.program, schedule_from_json(steps), AVX512).sha256


def test_waiting_for_a_machine_costs_no_seconds():
    bench = FakeBench([MATMUL])
    bench.absent = 1000
    (tuned,) = run(bench, MATMUL, trials=12, seconds=5.0)
    assert (tuned.state, tuned.done) == (State.DONE, 12)


def test_cancelled_while_no_machine_is_there():
    bench = FakeBench([MATMUL])
    bench.absent, bench.cancel_after = 10**9, 0
    (tuned,) = run(bench, MATMUL)
    assert (tuned.state, tuned.best) == (State.CANCELLED, None)


def test_a_play_off_that_hangs_is_cut_off():
    bench = FakeBench([MATMUL])
    bench.measure = lambda steps: replace(by_hash(steps), source_sha256=real_sum(steps))
    submit = bench.submit

    def losing(candidates):
        if candidates[0].purpose is Purpose.SEARCH:
            submit(candidates)

    bench.submit = losing
    (tuned,) = run(bench, MATMUL, trials=12, seconds=10.0)
    assert tuned.state is State.DONE
    assert tuned.best.ci_s is None


def test_a_changed_generator_serves_nothing():
    bench = FakeBench([MATMUL])
    bench._many_samples = lambda candidate, once: replace(once, samples_s=(once.median_s,) * 30)
    (tuned,) = run(bench, MATMUL, trials=12)
    assert tuned.state is State.FAILED
    assert "the generator has changed" in tuned.reason


def test_withdrawn_trials_may_be_tried_again():
    bench = FakeBench([SMALL])
    bench.measure = lambda steps: Measurement(outcome=Outcome.CANCELLED)
    run(bench, SMALL, trials=16)
    later = FakeBench([SMALL], log=bench.log, job="later")
    tune(replace(job(SMALL, trials=16), id="later"), later.log, later, Silence(), later.clock)
    assert len(later.searched()) == 16


def test_progress_tells_rounds_trials_bests_and_ends():
    heard = Listening()
    bench = FakeBench([MATMUL])
    (tuned,) = run(bench, MATMUL, trials=3 * ROUND, progress=heard)
    assert [r["asked"] for r in heard.of("round")] == [ROUND] * 3
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
    fit = loop.fit
    monkeypatch.setattr(
        loop, "fit", lambda examples, seed: taught.append(examples) or fit(examples, seed)
    )
    later = FakeBench([SOFTMAX], log=bench.log, job="later")
    tune(replace(job(SOFTMAX, trials=12), id="later"), later.log, later, Silence(), later.clock)
    assert len(taught[0]) == 3 * ROUND
    assert set(taught[0].group) == {f"{MATMUL.hash}/{MACHINE}"}


@pytest.mark.parametrize("strategy", ["random", "evolutionary"])
def test_strategies_by_name(strategy):
    (tuned,) = run(FakeBench([SOFTMAX]), SOFTMAX, trials=20, strategy=strategy)
    assert (tuned.state, tuned.done) == (State.DONE, 20)
