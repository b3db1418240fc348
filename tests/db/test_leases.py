"""Claims, beats, results and losses: each candidate is recorded exactly once."""

from dataclasses import replace

import pytest
from sqlalchemy import select

from db import jobs, leases, queue, tuning, workers
from db.leases import Claim, Report
from db.schema import RecordRow
from db.setups import compiler_of
from tests.db.samples import OK, TARGET, candidate, enrolment, new_job, submitted
from tuner.errors import Conflict
from tuner.record import Measurement, Outcome, Peaks, Purpose, Timing

CRASH = Measurement(outcome=Outcome.CRASH, detail="signal 11")
RELEASED = Measurement(outcome=Outcome.CANCELLED)


def take(session, worker, claim="c1", max_items=16, until=60.0):
    wish = Claim(worker=worker.id, id=claim, targets=[TARGET], max_items=max_items)
    return leases.claim(session, wish, 0.0, until)


def report(session, grant, results, now=1.0):
    lease = grant.lease
    said = Report(worker=lease.worker, lease=lease.id, fence=lease.fence, results=results)
    return leases.report(session, said, now)


def ids(grant):
    return [row.id for row in grant.items]


def recorded(session):
    return [(row.id, row.outcome) for row in session.scalars(select(RecordRow))]


def test_a_grant_holds_candidates_in_the_order_of_submission(session):
    worker, _ = submitted(session, "a", "b", "c")
    assert ids(take(session, worker, "c1", max_items=2)) == ["a", "b"]
    assert ids(take(session, worker, "c2")) == ["c"]
    assert take(session, worker, "c3") is None


def test_the_same_claim_gets_the_same_grant(session):
    worker, _ = submitted(session, "a", "b", "c")
    first = take(session, worker, "c1", max_items=2)
    again = take(session, worker, "c1", max_items=2)
    assert (again.lease.id, ids(again)) == (first.lease.id, ["a", "b"])


def test_a_repeated_claim_of_an_answered_grant_gets_nothing(session):
    worker, _ = submitted(session, "a")
    report(session, take(session, worker), {"a": OK})
    assert take(session, worker) is None


def test_a_grant_is_of_one_workload_purpose_and_timing(session):
    worker, job = submitted(session, "a")
    timing = Timing(min_samples=20)
    queue.submit(session, job, [candidate("b", purpose=Purpose.PLAYOFF)])
    queue.submit(session, job, [candidate("c"), candidate("d", timing=timing)])
    assert ids(take(session, worker, "1")) == ["a", "c"]
    assert ids(take(session, worker, "2")) == ["b"]
    assert ids(take(session, worker, "3")) == ["d"]


def test_only_the_machine_of_the_job_gets_its_candidates(session):
    submitted(session, "a")
    other = workers.enrol(session, enrolment("other", "f1:y"), 0.0)
    assert take(session, other) is None


def test_only_workers_with_the_compiler_of_the_job_get_its_candidates(session):
    worker, job = submitted(session, "a")
    assert job.compiler == "gcc 12"
    other = workers.enrol(session, enrolment("other", compiler="clang 19"), 0.0)
    assert take(session, other) is None
    assert ids(take(session, worker)) == ["a"]


def test_a_machine_that_got_another_compiler_goes_on_with_it(session):
    worker, job = submitted(session, "a")
    workers.enrol(session, enrolment(), 1.0)
    assert tuning.held(session, job.id, 1) is job
    workers.enrol(session, enrolment(compiler="gcc 13"), 2.0)
    assert take(session, worker) is None
    with pytest.raises(Conflict, match="under fence 2, not 1"):
        tuning.held(session, job.id, 1)
    assert tuning.lease(session, "tuner", [worker], 3.0, 63.0) is job
    assert (job.compiler, job.fence) == ("gcc 13", 3)
    assert ids(take(session, worker, "again")) == ["a"]


def test_an_opencl_target_is_built_by_its_driver(session):
    facts = {"opencl": {"version": "PoCL 5"}}
    worker = workers.enrol(session, enrolment(targets=("opencl-pocl", TARGET), facts=facts), 0.0)
    assert compiler_of(worker, "opencl-pocl") == "PoCL 5"
    assert compiler_of(worker, TARGET) == "gcc 12"


def test_a_target_that_was_not_asked_for_is_not_granted(session):
    worker, _ = submitted(session, "a")
    wish = Claim(worker=worker.id, id="c", targets=["cpu-sse2-1t"], max_items=4)
    assert leases.claim(session, wish, 0.0, 60.0) is None


def test_urgent_jobs_go_first(session):
    worker, job = submitted(session, "a")
    job.priority = -1
    urgent = jobs.create(session, new_job(job.owner, priority=5), 0.0)
    urgent.fingerprint, urgent.compiler = worker.fingerprint, worker.compiler
    queue.submit(session, urgent, [candidate("b")])
    assert ids(take(session, worker)) == ["b"]


def test_results_are_counted_recorded_and_told(session):
    worker, job = submitted(session, "a", "b")
    grant = take(session, worker)
    receipt = report(session, grant, {"a": OK, "b": CRASH})
    assert (receipt.accepted, receipt.replayed) == (["a", "b"], [])
    assert recorded(session) == [("a", "ok"), ("b", "crash")]
    assert (job.issued, job.done, job.failed) == (2, 2, 1)
    (row,) = jobs.workloads_of(session, job.id)
    assert (row.done, row.failed, row.failures) == (2, 1, {"crash": 1})


def test_a_result_is_recorded_once(session):
    worker, job = submitted(session, "a", "b")
    grant = take(session, worker)
    report(session, grant, {"a": OK})
    receipt = report(session, grant, {"a": OK, "b": OK})
    assert (receipt.accepted, receipt.replayed) == (["b"], ["a"])
    assert report(session, grant, {"a": OK, "b": OK}).replayed == ["a", "b"]
    assert recorded(session) == [("a", "ok"), ("b", "ok")]
    assert job.done == 2


def test_a_play_off_does_not_count_against_the_trials(session):
    worker, job = submitted(session, "a", purpose=Purpose.PLAYOFF)
    report(session, take(session, worker), {"a": OK})
    assert (job.issued, job.done) == (0, 0)
    assert recorded(session) == [("a", "ok")]


def test_results_under_a_lost_lease_are_refused_and_nothing_is_recorded(session):
    worker, job = submitted(session, "a", "b")
    grant = take(session, worker)
    assert leases.reap(session, 61.0) == 1
    with pytest.raises(Conflict, match="does not hold candidate 'a' any more"):
        report(session, grant, {"a": OK})
    assert recorded(session) == []
    again = take(session, worker, "c2", until=120.0)
    assert again.lease.fence > grant.lease.fence
    assert report(session, again, {"a": OK}).accepted == ["a"]
    assert job.done == 1


@pytest.mark.parametrize("change", [{"fence": 99}, {"lease": "none"}, {"worker": "other"}])
def test_a_wrong_fence_lease_or_worker_is_refused(session, change):
    worker, _ = submitted(session, "a")
    lease = take(session, worker).lease
    said = Report(worker=worker.id, lease=lease.id, fence=lease.fence, results={"a": OK})
    with pytest.raises(Conflict, match="has no lease"):
        leases.report(session, replace(said, **change), 1.0)


def test_the_first_peaks_of_a_job_stay(session):
    worker, job = submitted(session, "a")
    lease = take(session, worker).lease
    said = Report(worker=worker.id, lease=lease.id, fence=lease.fence, results={"a": OK})
    first = Peaks(flops_per_s=1e11, copy_bytes_per_s=1e10)
    leases.report(session, replace(said, peaks=first), 1.0)
    leases.report(session, replace(said, peaks=Peaks(flops_per_s=1, copy_bytes_per_s=1)), 2.0)
    assert job.peaks == {"flops_per_s": 1e11, "copy_bytes_per_s": 1e10}


def test_a_candidate_of_another_lease_is_refused(session):
    worker, _ = submitted(session, "a", "b")
    first = take(session, worker, "1", max_items=1)
    take(session, worker, "2", max_items=1)
    with pytest.raises(Conflict, match="does not hold candidate 'b'"):
        report(session, first, {"b": OK})


def test_beats_keep_a_lease(session):
    worker, _ = submitted(session, "a")
    grant = take(session, worker)
    beat = leases.beat(session, worker.id, [grant.lease.id], 100.0)
    assert (beat.cancel, beat.lost) == ([], [])
    assert leases.reap(session, 61.0) == 0
    assert leases.reap(session, 101.0) == 1
    assert leases.beat(session, worker.id, [grant.lease.id], 200.0).lost == [grant.lease.id]


def test_a_beat_for_an_unknown_lease_says_lost_and_for_an_answered_one_nothing(session):
    worker, _ = submitted(session, "a")
    grant = take(session, worker)
    report(session, grant, {"a": OK})
    beat = leases.beat(session, worker.id, [grant.lease.id, "none"], 100.0)
    assert (beat.cancel, beat.lost) == ([], ["none"])


def test_a_lost_candidate_goes_out_alone_and_is_set_aside_after_three_losses(session):
    worker, job = submitted(session, "killer", "innocent")
    take(session, worker, "1", until=60.0)
    leases.reap(session, 61.0)
    for turn in (2, 3):
        grant = take(session, worker, str(turn), until=turn * 60.0)
        assert ids(grant) == ["killer"]
        leases.reap(session, turn * 60.0 + 1)
    assert recorded(session) == [("killer", "worker_lost")]
    assert job.failed == 1
    assert ids(take(session, worker, "4")) == ["innocent"]


def test_leaders_of_a_play_off_stay_together_after_a_loss(session):
    worker, _ = submitted(session, "a", "b", purpose=Purpose.PLAYOFF)
    take(session, worker, "1")
    leases.reap(session, 61.0)
    assert ids(take(session, worker, "2")) == ["a", "b"]


def test_a_worker_that_enrols_again_loses_what_it_held_at_once(session):
    worker, _ = submitted(session, "a")
    grant = take(session, worker)
    assert workers.enrol(session, enrolment(), 5.0).id == worker.id
    with pytest.raises(Conflict):
        report(session, grant, {"a": OK})
    assert ids(take(session, worker, "2")) == ["a"]


def test_what_a_worker_gives_back_is_queued_again_and_not_recorded(session):
    worker, job = submitted(session, "a", "b")
    grant = take(session, worker)
    assert report(session, grant, {"a": OK, "b": RELEASED}).accepted == ["a", "b"]
    assert report(session, grant, {"b": RELEASED}).replayed == ["b"]
    assert recorded(session) == [("a", "ok")]
    assert job.done == 1
    assert ids(take(session, worker, "2")) == ["b"]


def test_a_cancelled_job_lets_queued_candidates_die_and_tells_the_worker(session):
    worker, job = submitted(session, "a", "b")
    grant = take(session, worker, max_items=1)
    jobs.cancel(session, job, 1.0)
    assert take(session, worker, "2") is None
    assert leases.beat(session, worker.id, [grant.lease.id], 99.0).cancel == [grant.lease.id]
    assert report(session, grant, {"a": RELEASED}).accepted == ["a"]
    assert take(session, worker, "3") is None
    assert recorded(session) == []


def test_a_result_that_comes_after_the_cancel_is_kept(session):
    worker, job = submitted(session, "a")
    grant = take(session, worker)
    jobs.cancel(session, job, 1.0)
    report(session, grant, {"a": OK})
    assert recorded(session) == [("a", "ok")]


def test_a_withdrawn_candidate_whose_worker_is_lost_is_not_queued_again(session):
    worker, job = submitted(session, "a")
    take(session, worker)
    queue.withdraw(session, job.id)
    leases.reap(session, 61.0)
    assert take(session, worker, "2") is None
    assert recorded(session) == []


def test_a_result_cannot_be_told_in_two_ways(session):
    worker, _ = submitted(session, "a")
    grant = take(session, worker)
    report(session, grant, {"a": OK})
    assert report(session, grant, {"a": replace(OK, median_s=9.0)}).replayed == ["a"]
    assert session.scalars(select(RecordRow)).one().measurement["median_s"] == OK.median_s
