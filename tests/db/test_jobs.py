"""Jobs: made, listed, cancelled, ended; leased by tuners; tokens and idempotency keys."""

import pytest

from db import events, idempotency, jobs, queue, tokens, tuning, workers
from db.events import EventKind
from db.idempotency import Key
from db.states import JobState
from db.tokens import TokenRole
from tests.db.samples import (
    TARGET,
    candidate,
    enrolment,
    new_job,
    owner,
    running_job,
    submitted,
)
from tuner.errors import Conflict, NotFound
from tuner.record import Purpose


def told(session, job):
    return [
        (row.number, row.kind, row.data.get("state"))
        for row in events.since(session, job.id, 0, 99)
    ]


def test_a_job_keeps_its_workloads_in_order(session):
    job = jobs.create(session, new_job(owner(session), "w1:b", "w1:a"), 5.0)
    assert jobs.get(session, job.id) is job
    assert [row.workload for row in jobs.workloads_of(session, job.id)] == ["w1:b", "w1:a"]
    assert (job.state, job.created_at, job.deadline_at) == ("queued", 5.0, 1005.0)
    assert told(session, job) == [(1, "state", "queued")]


def test_an_unknown_job_is_not_found(session):
    with pytest.raises(NotFound, match="no job 'none'"):
        jobs.get(session, "none")


def test_jobs_are_paged_youngest_first(session):
    token = owner(session)
    made = [jobs.create(session, new_job(token), float(i)) for i in range(5)]
    first = jobs.page(session, None, 2)
    rest = jobs.page(session, first[-1].number, 9)
    assert [*first, *rest] == made[::-1]
    jobs.cancel(session, made[0], 9.0)
    assert jobs.page(session, None, 9, JobState.CANCELLED) == [made[0]]


def test_cancelling_a_queued_job_ends_it_once(session):
    job = jobs.create(session, new_job(owner(session)), 0.0)
    for moment in (1.0, 2.0):
        jobs.cancel(session, job, moment)
    assert (job.state, job.ended_at) == ("cancelled", 1.0)
    assert jobs.workloads_of(session, job.id)[0].state == "cancelled"
    assert [kind for _, kind, _ in told(session, job)] == ["state", "state", "done"]


def test_cancelling_a_running_job_asks_its_tuner(session):
    _, job = submitted(session, "a")
    jobs.cancel(session, job, 1.0)
    assert (job.state, job.cancel) == ("running", True)
    assert queue.outstanding(session, job.id) == []


def test_a_cancelled_job_whose_tuner_is_gone_is_ended(session):
    _, job = submitted(session, "a")
    jobs.cancel(session, job, 1.0)
    jobs.end_overdue(session, 59.0)
    assert job.state == "running"
    jobs.end_overdue(session, 61.0)
    assert job.state == "cancelled"


def test_a_job_that_no_machine_comes_for_expires(session):
    job = jobs.create(session, new_job(owner(session), wait_s=10.0), 0.0)
    jobs.end_overdue(session, 9.0)
    assert job.state == "queued"
    jobs.end_overdue(session, 11.0)
    assert (job.state, job.reason) == (
        "expired", "no machine for cpu-avx2-1t came before the deadline",
    )  # fmt: skip
    jobs.end_overdue(session, 12.0)
    assert job.ended_at == 11.0


def test_a_tuner_leases_what_a_live_machine_can_measure(session):
    token = owner(session)
    jobs.create(session, new_job(token, target="cpu-neon-1t"), 0.0)
    job = jobs.create(session, new_job(token), 0.0)
    assert tuning.lease(session, "t", [], 1.0, 61.0) is None
    worker = workers.enrol(session, enrolment(), 1.0)
    assert tuning.lease(session, "t", [worker], 2.0, 62.0) is job
    assert (job.state, job.started_at, job.fingerprint) == ("running", 2.0, "f1:x")
    assert tuning.lease(session, "t", [worker], 3.0, 63.0) is None


def test_urgent_jobs_are_leased_first(session):
    token = owner(session)
    worker = workers.enrol(session, enrolment(), 0.0)
    jobs.create(session, new_job(token), 0.0)
    urgent = jobs.create(session, new_job(token, priority=1), 0.0)
    assert tuning.lease(session, "t", [worker], 1.0, 61.0) is urgent


def test_an_omitted_target_is_the_one_that_live_machines_agree_on(session):
    job = jobs.create(session, new_job(owner(session), target=None), 0.0)
    worker = workers.enrol(session, enrolment(targets=(TARGET, "cpu-sse2-1t")), 0.0)
    assert tuning.lease(session, "t", [worker], 1.0, 61.0) is job
    assert job.target == TARGET


def test_an_omitted_target_that_is_not_clear_ends_the_job(session):
    job = jobs.create(session, new_job(owner(session), target=None), 0.0)
    live = [
        workers.enrol(session, enrolment("a", "f1:a"), 0.0),
        workers.enrol(session, enrolment("b", "f1:b", ("cpu-neon-1t",)), 0.0),
    ]
    assert tuning.lease(session, "t", live, 1.0, 61.0) is None
    assert job.state == "failed"
    assert job.reason.endswith("more than one: cpu-avx2-1t, cpu-neon-1t")


def test_targets_without_a_thread_count_are_no_family(session):
    live = [
        workers.enrol(session, enrolment(name, f"f1:{name}", (f"sim-{name}",)), 0.0)
        for name in ("a100", "h100")
    ]
    assert tuning.preferred_targets(live) == ["sim-a100", "sim-h100"]


def test_a_job_that_its_tuner_left_goes_to_the_next_one_and_the_first_is_fenced_off(session):
    worker, job = running_job(session)
    first = job.fence
    tuning.renew(session, job.id, first, 100.0)
    assert tuning.lease(session, "next", [worker], 99.0, 160.0) is None
    assert tuning.lease(session, "next", [worker], 101.0, 161.0) is job
    assert job.started_at == 0.0
    with pytest.raises(Conflict, match="is running under fence 2, not 1"):
        tuning.renew(session, job.id, first, 200.0)


def test_a_released_job_can_be_leased_at_once(session):
    worker, job = running_job(session)
    tuning.release(session, job.id, job.fence)
    assert tuning.lease(session, "next", [worker], 1.0, 61.0) is job


def test_a_left_job_waits_for_its_machine_until_its_time_is_up(session):
    _, job = running_job(session, seconds=500.0)
    assert tuning.lease(session, "next", [], 61.0, 121.0) is None
    assert tuning.lease(session, "next", [], 501.0, 561.0) is job


def test_an_ended_job_belongs_to_no_tuner(session):
    worker, job = running_job(session)
    jobs.end(session, job, JobState.DONE, "", 1.0)
    with pytest.raises(Conflict):
        tuning.held(session, job.id, job.fence)
    assert tuning.lease(session, "next", [worker], 99.0, 161.0) is None


def test_the_budget_is_charged_where_work_is_issued(session):
    _, job = running_job(session, trials=3)
    queue.submit(session, job, [candidate("a"), candidate("b")])
    with pytest.raises(Conflict, match="2 more search trials after 2 exceed its budget of 3"):
        queue.submit(session, job, [candidate("c"), candidate("d")])
    queue.submit(session, job, [candidate("p", purpose=Purpose.PLAYOFF), candidate("c")])
    assert job.issued == 3


def test_a_candidate_that_is_known_is_left_as_it_is_and_not_charged_again(session):
    _, job = running_job(session)
    queue.submit(session, job, [candidate("a")])
    assert queue.submit(session, job, [candidate("a"), candidate("b")]) == ["a"]
    assert job.issued == 2
    assert [c.id for c in queue.outstanding(session, job.id)] == ["a", "b"]


def test_events_are_numbered_for_each_job(session):
    token = owner(session)
    a, b = (jobs.create(session, new_job(token), 0.0) for _ in range(2))
    for job in (a, b, a):
        events.add(session, job, EventKind.ROUND, {}, 1.0)
    session.flush()
    assert [row.number for row in events.since(session, a.id, 1, 9)] == [2, 3]
    assert [row.number for row in events.since(session, b.id, 0, 9)] == [1, 2]


def test_a_token_is_found_by_its_secret_and_the_secret_is_not_kept(session):
    secret = tokens.create(session, "me", TokenRole.SUBMIT, 0.0)
    row = tokens.find(session, secret)
    assert (row.name, row.role) == ("me", "submit")
    assert secret not in (row.id, row.sha256)
    assert tokens.find(session, secret + "x") is None


def test_a_repeated_key_gets_the_first_answer_and_not_for_another_request(session):
    key = Key(token=owner(session), key="k", request="r")
    assert idempotency.answered(session, key) is None
    idempotency.keep(session, key, {"id": "j"}, 0.0)
    session.flush()
    assert idempotency.answered(session, key) == {"id": "j"}
    with pytest.raises(Conflict, match="idempotency key 'k' was used before"):
        idempotency.answered(session, Key(token=key.token, key="k", request="other"))
    other = Key(token=owner(session), key="k", request="other")
    assert idempotency.answered(session, other) is None
