"""How much of a job's time its workers had something to do."""

import pytest

from db import busy, jobs, leases, workers
from db.leases import Claim
from db.states import JobState
from tests.db.samples import OK, TARGET, enrolment, submitted
from tests.db.test_leases import report, take


def held(session, worker, claim, begun, ended):
    """`worker` takes one candidate and reports it."""
    wish = Claim(worker=worker.id, id=claim, targets=[TARGET], max_items=1)
    grant = leases.claim(session, wish, begun, 60.0)
    return lambda: report(session, grant, {grant.items[0].id: OK}, now=ended)


def ended(session, job, now):
    job.started_at = 0.0
    jobs.end(session, job, JobState.DONE, "", now)
    return busy.idle_share(session, job)


def test_time_under_two_leases_counts_once(session):
    worker, job = submitted(session, "a", "b", "c")
    first, second = (
        held(session, worker, "1", 1.0, 4.0), held(session, worker, "2", 2.0, 6.0),
    )  # fmt: skip
    first()
    second()
    held(session, worker, "3", 8.0, 9.0)()
    assert ended(session, job, 10.0) == pytest.approx(1 - (5 + 1) / 10)


def test_a_lease_that_nobody_answered_ends_with_its_loss(session):
    worker, job = submitted(session, "a")
    take(session, worker, until=3.0)
    assert leases.reap(session, 4.0) == 1
    assert ended(session, job, 8.0) == pytest.approx(0.5)


def test_an_open_lease_lasts_until_the_job_s_end(session):
    worker, job = submitted(session, "a", "b")
    take(session, worker)
    assert ended(session, job, 5.0) == pytest.approx(0.0)


def test_nobody_was_idle_of_a_job_that_nobody_had(session):
    _, job = submitted(session, "a")
    assert busy.idle_share(session, job) is None
    assert ended(session, job, 5.0) is None


def test_workers_are_averaged(session):
    one, job = submitted(session, "a", "b")
    two = another(session)
    held(session, one, "1", 0.0, 10.0)()
    held(session, two, "1", 0.0, 5.0)()
    assert ended(session, job, 10.0) == pytest.approx(0.25)


def another(session):
    """A second worker of the same machine."""
    return workers.enrol(session, enrolment(name="another box"), 0.0)
