"""Every way for a job to end."""

from dataclasses import replace

import pytest

from tests.tune.fake_bench import FakeBench, by_hash, failing
from tests.tune.jobs import (
    AVX512,
    COPY,
    LARGE,
    MATMUL,
    SMALL,
    SMALL_POINTS,
    SOFTMAX,
    Silence,
    job,
    run,
)
from tuner.codegen.kernel import generate
from tuner.errors import EmptySpaceError
from tuner.record import Measurement, Outcome, Purpose
from tuner.schedule.steps import schedule_from_json
from tuner.tune.job import State
from tuner.tune.loop import IN_FLIGHT, tune
from tuner.tune.scheduler import GIVE_UP, ROUND


def softmax_passes(steps):
    folds = any(s["step"] == "rfactor" for s in steps["steps"])
    return by_hash(steps) if folds else failing(steps)


def test_all_failed_ends_failed_with_the_reason():
    bench = FakeBench([MATMUL, SOFTMAX], measure=softmax_passes)
    matmul, softmax = run(bench, MATMUL, SOFTMAX, trials=48)
    assert matmul.state is State.FAILED
    assert matmul.reason == (
        "no candidate passed: wrong_result 12; the first said: b2[0] is 3, expected 4"
    )
    assert (matmul.failed, matmul.failures, matmul.best) == (12, {"wrong_result": 12}, None)
    assert softmax.state is State.DONE


def test_a_dead_workload_is_given_up_and_the_other_goes_on():
    bench = FakeBench([MATMUL, SOFTMAX], measure=softmax_passes)
    matmul, softmax = run(bench, MATMUL, SOFTMAX, trials=400)
    assert GIVE_UP <= matmul.failed <= GIVE_UP + ROUND * IN_FLIGHT
    assert matmul.reason.startswith(f"given up, no candidate passed: wrong_result {matmul.failed};")
    assert (softmax.state, softmax.done) == (State.DONE, 400 - matmul.done)


def test_a_job_ends_where_every_workload_is_given_up():
    bench = FakeBench([MATMUL, SOFTMAX], measure=failing)
    for tuned in run(bench, MATMUL, SOFTMAX, trials=10_000):
        assert (tuned.state, tuned.best) == (State.FAILED, None)
        assert tuned.failures == {"wrong_result": tuned.failed}
        assert GIVE_UP <= tuned.failed <= GIVE_UP + ROUND * IN_FLIGHT


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


def test_a_strategy_that_refuses_the_space_fails_its_workload_only():
    bench = FakeBench([LARGE, SMALL])
    large, small = run(bench, LARGE, SMALL, strategy="exhaustive", trials=SMALL_POINTS + 4)
    assert (large.state, small.state) == (State.FAILED, State.DONE)
    assert large.reason.startswith("no schedule to try: the space has ")
    assert small.done == SMALL_POINTS
    assert small.reason == "no unmeasured point of the space was left"


def test_a_space_of_one_point_is_measured_once():
    bench = FakeBench([COPY])
    (tuned,) = run(bench, COPY, trials=100, strategy="evolutionary")
    assert (tuned.state, tuned.done, len(bench.searched())) == (State.DONE, 1, 1)


@pytest.mark.parametrize("trials", [1, 3])
def test_fewer_trials_than_workloads_are_spent_on_the_first(trials):
    works = [SMALL, SOFTMAX, MATMUL, COPY]
    tuned = run(FakeBench(works), *works, trials=trials)
    assert [t.done for t in tuned] == [1] * trials + [0] * (4 - trials)
    assert tuned[3].reason == "no candidate was measured before the job ended"


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
    tune(
        replace(job(SMALL, trials=16), id="later", more=True),
        later.log,
        later,
        Silence(),
        later.clock,
    )
    assert len(later.searched()) == 16
