"""Workers: who they are, what they have, when they were last heard of."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, or_, select, update
from sqlalchemy.orm import Session

from db import jobs, leases
from db.schema import JobRow, LeaseRow, WorkerRow
from db.setups import compiler_of
from db.states import JobState, LeaseState
from db.turns import in_turn, locked, tell
from tuner.errors import NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolment:
    """What a worker says of itself."""

    name: str
    fingerprint: str
    facts: dict[str, Any]
    #: best first
    targets: list[str]
    generator: str
    compiler: str
    version: str


def enrol(session: Session, enrolment: Enrolment, now: float) -> WorkerRow:
    """The worker of this name on this machine, made if it is new.

    One that enrols again has lost its memory: what it held goes back to the queue at once.
    """
    in_turn(session, f"worker {enrolment.name} {enrolment.fingerprint}")
    query = select(WorkerRow).where(
        WorkerRow.name == enrolment.name, WorkerRow.fingerprint == enrolment.fingerprint
    )
    worker = session.scalar(locked(query))
    compilers = {} if worker is None else _compilers(worker)
    if worker is None:
        worker = WorkerRow(
            id=uuid.uuid4().hex, name=enrolment.name, fingerprint=enrolment.fingerprint
        )
        session.add(worker)
    else:
        _lock_jobs(session, worker)
        leases.lose_all(session, worker.id, now)
    worker.facts, worker.targets = enrolment.facts, enrolment.targets
    worker.generator, worker.compiler = enrolment.generator, enrolment.compiler
    worker.version = enrolment.version
    worker.enrolled_at = worker.seen_at = now
    session.flush()
    now_there = _compilers(worker)
    if any(now_there.get(name, was) != was for name, was in compilers.items()):
        _take_jobs_back(session, worker.fingerprint)
    tell(session)
    return worker


def _lock_jobs(session: Session, worker: WorkerRow) -> None:
    """All jobs that an enrolment may change, at once and so in order."""
    leased = select(LeaseRow.job).where(
        LeaseRow.state == LeaseState.OPEN, LeaseRow.worker == worker.id
    )
    here = and_(JobRow.state == JobState.RUNNING, JobRow.fingerprint == worker.fingerprint)
    jobs.lock_all(session, or_(JobRow.id.in_(leased), here))


def _compilers(worker: WorkerRow) -> dict[str, str]:
    return {name: compiler_of(worker, name) for name in worker.targets}


def _take_jobs_back(session: Session, fingerprint: str) -> None:
    """What builds may be another one now: the tuner that runs a job on this machine is refused at
    its next write, and whoever leases the job next finds the compiler that is there."""
    session.execute(
        update(JobRow)
        .where(JobRow.state == JobState.RUNNING, JobRow.fingerprint == fingerprint)
        .values(fence=JobRow.fence + 1, leased_until=0.0)
    )


def get(session: Session, id: str) -> WorkerRow:
    """Raises NotFound."""
    worker = session.get(WorkerRow, id)
    if worker is None:
        raise NotFound(f"no worker {id!r}; enrol first")
    return worker


def live(session: Session, since: float) -> list[WorkerRow]:
    """Workers heard of after `since`, the latest first."""
    query = select(WorkerRow).where(WorkerRow.seen_at > since)
    return list(session.scalars(query.order_by(WorkerRow.seen_at.desc(), WorkerRow.id)))


def everyone(session: Session) -> list[WorkerRow]:
    """All workers that ever enrolled, by name."""
    return list(session.scalars(select(WorkerRow).order_by(WorkerRow.name, WorkerRow.id)))
