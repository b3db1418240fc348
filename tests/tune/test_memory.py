"""What a job knows from the log, and what it shares with other jobs."""

from dataclasses import replace

import pytest

from tests.tune.fake_bench import COMPILER, MACHINE, SETUP, FakeBench, by_hash
from tests.tune.jobs import AVX512, MATMUL, SMALL, SMALL_POINTS, Silence, job, run
from tuner.codegen.kernel import GENERATOR, generate
from tuner.log import RecordFilter, steps_key
from tuner.record import Purpose, Setup
from tuner.schedule.steps import schedule_from_json
from tuner.tune import learner
from tuner.tune.job import State
from tuner.tune.loop import tune


def test_another_job_measures_nothing_again():
    bench = FakeBench([SMALL])
    run(bench, SMALL, trials=10)
    later = FakeBench([SMALL], log=bench.log, job="later")
    (tuned,) = tune(
        replace(job(SMALL, trials=100), id="later", more=True),
        later.log,
        later,
        Silence(),
        later.clock,
    )
    assert len(later.searched()) == SMALL_POINTS - 10
    assert (tuned.state, tuned.done) == (State.DONE, SMALL_POINTS - 10)
    assert tuned.reason == "no unmeasured point of the space was left"


def test_what_was_tuned_before_is_answered_at_once():
    bench = FakeBench([SMALL, MATMUL])
    (first,) = run(bench, SMALL, trials=10)
    later = FakeBench([SMALL, MATMUL], log=bench.log, job="later")
    known, new = tune(
        replace(job(SMALL, MATMUL, trials=12), id="later"),
        later.log, later, Silence(), later.clock,
    )  # fmt: skip
    assert (known.state, known.done, known.best) == (State.DONE, 0, first.best)
    assert "tuned before with 10 trials" in known.reason
    assert "--more" in known.reason
    assert (new.state, new.done) == (State.DONE, 12)
    assert {c.workload for c in later.searched()} == {MATMUL.hash}


@pytest.mark.parametrize(
    "setup", [Setup(MACHINE, "g1:other", COMPILER), Setup(MACHINE, GENERATOR, "cc 2")]
)
def test_what_another_compiler_or_generator_was_tuned_with_is_not_the_answer(setup):
    bench = FakeBench([SMALL], setup=setup, job="before")
    tune(replace(job(SMALL), id="before"), bench.log, bench, Silence(), bench.clock)
    assert bench.log.best(SMALL.hash, AVX512.name)
    later = FakeBench([SMALL], log=bench.log)
    (tuned,) = run(later, SMALL, trials=10)
    assert (tuned.state, tuned.done) == (State.DONE, 10)


def test_two_jobs_at_a_time_share_what_they_measure():
    bench = FakeBench([MATMUL])
    other = FakeBench([MATMUL], log=bench.log, job="other")
    bench.others, other.others = [other], [bench]
    collect, ended = bench.collect, []

    def collect_while_another_runs(wait_s):
        if len(bench.known) >= 20 and not ended:
            pending = {steps_key(c.steps) for c in bench.queue}
            asked = replace(job(MATMUL, trials=30), id="other")
            ended.extend(tune(asked, other.log, other, Silence(), other.clock))
            assert pending
            assert not pending & {steps_key(c.steps) for c in other.searched()}
        return collect(wait_s)

    bench.collect = collect_while_another_runs
    # The other one comes upon the fastest.
    other.measure = quickly
    (tuned,) = run(bench, MATMUL, trials=60)
    assert (tuned.done, ended[0].done) == (60, 30)
    keys = [steps_key(c.steps) for c in bench.searched() + other.searched()]
    assert len(set(keys)) == len(keys) == 90
    found = {steps_key(c.steps) for c in other.searched()}
    assert {steps_key(c.steps) for c in bench.played()[0]} <= found
    assert bench.searched()[-1].timing.incumbent_s < 1e-3


@pytest.mark.parametrize(
    "other",
    [Setup("f1:other", GENERATOR, COMPILER), Setup(MACHINE, "g1:other", COMPILER),
     Setup(MACHINE, GENERATOR, "cc 2")],
)  # fmt: skip
def test_records_of_another_setup_count_for_nothing_but_teach_as_a_group_of_their_own(
    monkeypatch, other
):
    before = FakeBench([MATMUL], setup=other, job="before", measure=quickly)
    tune(replace(job(MATMUL), id="before"), before.log, before, Silence(), before.clock)
    assert len(before.searched()) == 36
    taught = []
    fit = learner.fit
    monkeypatch.setattr(
        learner, "fit", lambda examples, seed: taught.append(examples) or fit(examples, seed)
    )
    bench = FakeBench([MATMUL])
    bench.log.append(before.log.records(RecordFilter()))
    (tuned,) = run(bench, MATMUL)
    # The same seed asks for the same schedules: nothing was left out as measured.
    assert {steps_key(c.steps) for c in before.searched()} & {
        steps_key(c.steps) for c in bench.searched()
    }
    assert bench.searched()[0].timing.incumbent_s is None
    assert tuned.best.median_s >= 1e-3
    groups = [
        f"{MATMUL.hash}/{AVX512.name}/{s.fingerprint}/{s.generator}/{s.compiler}"
        for s in (other, SETUP)
    ]
    assert set(taught[0].group) == {groups[0]}
    assert set(taught[-1].group) == set(groups)


def quickly(steps):
    """Ten times as fast as `by_hash`."""
    found = by_hash(steps)
    return replace(found, median_s=found.median_s / 10)


def test_what_others_measured_is_served_from_the_play_off_only():
    bench = FakeBench([MATMUL], job="before", measure=quickly)
    tune(replace(job(MATMUL, trials=12), id="before"), bench.log, bench, Silence(), bench.clock)
    later = FakeBench([MATMUL], log=bench.log, measure=real)
    submit = later.submit
    later.submit = lambda found: submit([c for c in found if c.purpose is Purpose.SEARCH])
    (tuned,) = run(later, MATMUL, trials=12, seconds=10.0, more=True)
    own = bench.log.records(RecordFilter(job="job", purpose=Purpose.SEARCH))
    assert tuned.best.median_s == min(r.measurement.median_s for r in own) >= 1e-3


def real(steps):
    """As `by_hash`, with the sum of the source."""
    source = generate(MATMUL.program, schedule_from_json(steps), AVX512)
    return replace(by_hash(steps), source_sha256=source.sha256)
