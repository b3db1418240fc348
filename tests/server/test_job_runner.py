"""Between a job's rows and the tuning loop."""

import time

import pytest

import db
from db import events, jobs, tuning, workers
from db.jobs import NewWorkload
from server.services.job_runner import JobProgress, Lease, conclude, tune_job
from tests.db.samples import enrolment, new_job, owner, running_job
from tuner.errors import Conflict, SyntaxRefused, WorkloadError
from tuner.frontends.text import parse
from tuner.ir.show import show
from tuner.log import LoggedWorkload
from tuner.record import BestSchedule
from tuner.tune.job import State, Tuned
from tuner.workload.workload import admit

COPY = "def f(x: f32[8], y: f32[8]):\n    for i in range(8):\n        y[i] = x[i]\n"


@pytest.fixture
def database(tmp_path):
    url = f"sqlite:///{tmp_path}/t.db"
    db.migrate(url)
    database = db.open(url)
    yield database
    database.close()


def job_of(database, *workloads):
    with database.write() as session:
        items = tuple(NewWorkload(logged=item, name="f", op=None, sizes={}) for item in workloads)
        return jobs.create(session, new_job(owner(session), workloads=items), 0.0)


def test_the_loop_is_asked_what_the_user_asked(database):
    workload = admit(parse(COPY))
    logged = LoggedWorkload(hash=workload.hash, text=show(workload.program))
    job = job_of(database, logged)
    asked = tune_job(database, job, 0.0)
    assert [w.hash for w in asked.workloads] == [workload.hash]
    assert (asked.id, asked.target.name, asked.trials) == (job.id, "cpu-avx2-1t", 64)
    assert (asked.seconds, asked.strategy, asked.seed) == (100.0, "random", 0)
    assert (asked.weights, asked.spent) == ({workload.hash: 1.0}, {})


def test_seconds_count_from_the_first_start(database):
    workload = admit(parse(COPY))
    job = job_of(database, LoggedWorkload(hash=workload.hash, text=show(workload.program)))
    job.started_at = 10.0
    assert tune_job(database, job, 50.0).seconds == 60.0
    assert tune_job(database, job, 500.0).seconds == 0.0


def test_a_workload_that_has_another_hash_now_is_refused(database):
    job = job_of(database, LoggedWorkload(hash="w1:old", text=COPY))
    with pytest.raises(WorkloadError, match=r"w1:old is w1:.* to this version; submit it anew"):
        tune_job(database, job, 0.0)


def test_a_workload_that_cannot_be_read_any_more_is_refused(database):
    job = job_of(database, LoggedWorkload(hash="w1:old", text="no program"))
    with pytest.raises(SyntaxRefused):
        tune_job(database, job, 0.0)


def test_a_lease_is_renewed_until_it_is_left(database):
    with database.write() as session:
        _, job = running_job(session, now=time.time())
    first = job.leased_until
    with Lease(database, job.id, job.fence, 0.04, lambda: first):
        until = time.monotonic() + 20
        while True:
            with database.read() as session:
                renewed = jobs.get(session, job.id).leased_until
            if renewed != first:
                break
            assert time.monotonic() < until
    assert renewed == first + 0.04


def test_a_lease_that_was_lost_is_not_taken_back(database):
    with database.write() as session:
        worker, job = running_job(session)
        assert tuning.lease(session, "next", [worker], 61.0, 99.0) is job
    with Lease(database, job.id, 1, 0.004, lambda: 1e9):
        time.sleep(0.1)
    with database.read() as session:
        assert jobs.get(session, job.id).leased_until == 99.0


def tuned(workload, state=State.DONE, best=None, reason=""):
    return Tuned(workload=workload, state=state, reason=reason, done=1, failed=0, best=best)


BEST = BestSchedule(
    id="s1:x", workload="w1:a", target="cpu-avx2-1t", fingerprint="f1:x", steps={}, record="r",
    median_s=1.0, ci_s=None, source_sha256="", gflops=1.0, gbytes_per_s=1.0, peak_share=None,
    verified=True,
)  # fmt: skip


@pytest.mark.parametrize(
    ("ends", "state", "reason"),
    [
        ([tuned("w1:a", best=BEST)], "done", ""),
        ([tuned("w1:a", State.FAILED, None, "no candidate passed")], "failed", "no candidate"),
        ([tuned("w1:a", State.CANCELLED, BEST)], "cancelled", "cancelled by a user"),
    ],
)
def test_a_job_ends_as_its_workloads_did(database, ends, state, reason):
    with database.write() as session:
        _, job = running_job(session)
    conclude(database, job.id, job.fence, ends, 5.0)
    with database.read() as session:
        ended = jobs.get(session, job.id)
        (row,) = jobs.workloads_of(session, job.id)
    assert (ended.state, row.state) == (state, state)
    assert ended.reason.startswith(reason)
    assert row.best == (ends[0].best.id if ends[0].best else None)
    with pytest.raises(Conflict):
        conclude(database, job.id, job.fence, ends, 6.0)


def test_one_best_is_enough_for_a_job_to_be_done(database):
    with database.write() as session:
        worker = workers.enrol(session, enrolment(), 0.0)
        job = jobs.create(session, new_job(owner(session), "w1:a", "w1:b"), 0.0)
        assert tuning.lease(session, "t", [worker], 0.0, 60.0) is job
    ends = [tuned("w1:a", best=BEST), tuned("w1:b", State.FAILED, None, "nothing")]
    conclude(database, job.id, job.fence, ends, 5.0)
    with database.read() as session:
        ended = jobs.get(session, job.id)
        states = [row.state for row in jobs.workloads_of(session, job.id)]
    assert (ended.state, states) == ("done", ["done", "failed"])
    assert ended.reason == "1 of 2 workloads have no schedule"


def test_progress_becomes_events_but_for_trials_which_have_theirs(database):
    with database.write() as session:
        _, job = running_job(session)
    progress = JobProgress(database, job.id, job.fence, lambda: 7.0)
    for kind in ("trial", "round", "best", "state"):
        progress.event(kind, {"workload": "w1:a"})
    with database.read() as session:
        kinds = [row.kind for row in events.since(session, job.id, 2, 9)]
    assert kinds == ["round", "best", "state"]


def test_what_was_spent_is_kept_on_the_job_for_its_next_life(database):
    with database.write() as session:
        _, job = running_job(session)
    spent = {"search": 1.5, "waiting": 3.0}
    JobProgress(database, job.id, job.fence, lambda: 7.0).event("spent", {"seconds": spent})
    with database.read() as session:
        assert jobs.get(session, job.id).spent == spent
        assert not events.since(session, job.id, 2, 9)
