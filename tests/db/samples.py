"""Ready-made rows for tests of the database and the server."""

from db import jobs, queue, tokens, tuning, workers
from db.jobs import NewJob, NewWorkload
from db.tokens import TokenRole
from db.workers import Enrolment
from tuner.log import LoggedWorkload
from tuner.record import Candidate, Measurement, Outcome, Purpose, Timing

TARGET = "cpu-avx2-1t"
OK = Measurement(outcome=Outcome.OK, samples_s=(1e-3,) * 3, calls_per_sample=1, median_s=1e-3)


def owner(session):
    secret = tokens.create(session, "tester", TokenRole.ADMIN, 0.0)
    return tokens.find(session, secret).id


def new_job(token, *hashes, **changes):
    workloads = tuple(
        NewWorkload(logged=LoggedWorkload(hash=h, text=f"text {h}"), name=h, op=None, sizes={})
        for h in hashes or ("w1:a",)
    )
    fields = {
        "owner": token, "workloads": workloads, "target": TARGET, "strategy": "random", "seed": 0,
        "priority": 0, "trials": 64, "seconds": 100.0, "wait_s": 1000.0,
    }  # fmt: skip
    return NewJob(**{**fields, **changes})


def enrolment(name="box", fingerprint="f1:x", targets=(TARGET,), **changes):
    fields = {
        "name": name, "fingerprint": fingerprint, "facts": {"cores": 2}, "targets": list(targets),
        "generator": "g1:1", "compiler": "gcc 12", "version": "0.1",
    }  # fmt: skip
    return Enrolment(**{**fields, **changes})


def candidate(id, workload="w1:a", factor=2, purpose=Purpose.SEARCH, timing=None):
    return Candidate(
        id=id, workload=workload, target=TARGET, purpose=purpose, timing=timing or Timing(),
        steps={"version": 1, "steps": [{"step": "split", "factor": factor, "id": id}]},
    )  # fmt: skip


def running_job(session, now=0.0, **changes):
    """A worker, and a job that a tuner has leased; both rows."""
    worker = workers.enrol(session, enrolment(), now)
    job = jobs.create(session, new_job(owner(session), **changes), now)
    assert tuning.lease(session, "tuner", [worker], now, now + 60) is job
    return worker, job


def submitted(session, *ids, **changes):
    """As `running_job`, with these candidates queued."""
    worker, job = running_job(session)
    queue.submit(session, job, [candidate(id, **changes) for id in ids])
    return worker, job
