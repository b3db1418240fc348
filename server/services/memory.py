"""Jobs that ask for what is known already are answered when they are submitted."""

from __future__ import annotations

from sqlalchemy.orm import Session

from db import jobs, tuning, workers
from db.schema import JobRow
from db.setups import compiler_of
from db.states import JobState
from server.services.service import Service
from tuner.recall import recall
from tuner.record import Setup


def answer_at_once(service: Service, session: Session, job: JobRow) -> None:
    """Ends a job that was just made, if each of its workloads was tuned before on the machine that
    would measure it and the job does not ask for more. Else its tuner answers what is known."""
    now = service.clock()
    place = tuning.place_of(job, workers.live(session, now - service.settings.live_s))
    if job.more or place is None:
        return
    target, worker = place
    compiler = compiler_of(worker, target)
    setup = Setup(worker.fingerprint, service.generator, compiler)
    rows = jobs.workloads_of(session, job.id)
    known = [recall(service.log, row.workload, target, setup) for row in rows]
    found = [item for item in known if item is not None]
    if len(found) < len(rows):
        return
    job.target, job.fingerprint, job.compiler = target, worker.fingerprint, compiler
    job.started_at = now
    for row, item in zip(rows, found, strict=True):
        row.state, row.reason, row.best = JobState.DONE, item.reason, item.best.id
    jobs.end(session, job, JobState.DONE, found[0].reason if len(found) == 1 else "", now)
