"""Candidates in a server's queue without a tuner: what a tuner would write, written by a test."""

from contextlib import contextmanager

import db
from db import jobs, queue, tuning, workers
from tests.server.conftest import TARGET
from tuner.record import Candidate


@contextmanager
def writing(server):
    database = db.open(server.database_url)
    try:
        with database.write() as session:
            yield session
    finally:
        database.close()


def queue_candidates(server, job, *ids, **changes):
    """Leases `job` as a tuner if nobody has, and queues candidates of its first workload."""
    now = server.clock()
    with writing(server) as session:
        row = jobs.get(session, job)
        if row.state == "queued":
            assert tuning.lease(session, "t", workers.live(session, now - 60), now, now + 600)
        workload = jobs.workloads_of(session, job)[0].workload
        fresh = [candidate(id, workload, **changes) for id in ids]
        queue.submit(session, row, fresh)


def candidate(id, workload, **changes):
    steps = {"version": 1, "steps": [{"step": "unroll", "loop": "l2"}]}
    return Candidate(id=id, workload=workload, target=TARGET, steps=steps, **changes)
