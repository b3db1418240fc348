"""Workers: who they are, what they have, when they were last heard of."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from db import leases
from db.schema import JobRow, WorkerRow
from db.setups import compiler_of
from db.states import JobState
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
    query = select(WorkerRow).where(
        WorkerRow.name == enrolment.name, WorkerRow.fingerprint == enrolment.fingerprint
    )
    worker = session.scalar(query)
    compilers = {} if worker is None else _compilers(worker)
    if worker is None:
        worker = WorkerRow(
            id=uuid.uuid4().hex, name=enrolment.name, fingerprint=enrolment.fingerprint
        )
        session.add(worker)
    else:
        leases.lose_all(session, worker.id, now)
    worker.facts, worker.targets = enrolment.facts, enrolment.targets
    worker.generator, worker.compiler = enrolment.generator, enrolment.compiler
    worker.version = enrolment.version
    worker.enrolled_at = worker.seen_at = now
    session.flush()
    now_there = _compilers(worker)
    if any(now_there.get(name, was) != was for name, was in compilers.items()):
        _take_jobs_back(session, worker.fingerprint)
    return worker


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
