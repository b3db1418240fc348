"""Jobs as users see them: made, listed, cancelled, ended."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session

from db import events, queue, sql_log
from db.events import EventKind
from db.schema import JobRow, JobWorkloadRow
from db.states import ENDED, JobState
from db.turns import locked
from tuner.errors import NotFound
from tuner.log import LoggedWorkload


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWorkload:
    """One workload of a job, under the name its submitter gave it."""

    logged: LoggedWorkload
    name: str
    op: str | None
    sizes: Mapping[str, int | str]
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """What a user asks for."""

    owner: str
    workloads: tuple[NewWorkload, ...]
    #: None: the one that the live machines agree on
    target: str | None
    strategy: str
    seed: int
    priority: int
    trials: int
    seconds: float
    #: how long it may wait for a machine
    wait_s: float
    #: search on also for workloads that were tuned before
    more: bool = False


def create(session: Session, new: NewJob, now: float) -> JobRow:
    """Queues a job."""
    job = JobRow(
        id=uuid.uuid4().hex,
        owner=new.owner,
        state=JobState.QUEUED,
        target=new.target,
        strategy=new.strategy,
        seed=new.seed,
        priority=new.priority,
        budget_trials=new.trials,
        budget_s=new.seconds,
        deadline_at=now + new.wait_s,
        created_at=now,
        last_event=0,
        more=new.more,
    )
    session.add(job)
    session.flush()
    for position, item in enumerate(new.workloads):
        sql_log.add_workload(session, item.logged, now)
        session.add(_workload_row(job.id, position, item))
    events.add(session, job, EventKind.STATE, {"state": JobState.QUEUED, "reason": ""}, now)
    session.flush()
    return job


def _workload_row(job: str, position: int, item: NewWorkload) -> JobWorkloadRow:
    return JobWorkloadRow(
        job=job,
        position=position,
        workload=item.logged.hash,
        name=item.name,
        op=item.op,
        sizes=dict(item.sizes),
        state=JobState.QUEUED,
        weight=item.weight,
    )


def get(session: Session, id: str) -> JobRow:
    """Raises NotFound."""
    job = session.scalar(select(JobRow).where(JobRow.id == id))
    if job is None:
        raise NotFound(f"no job {id!r}")
    return job


def lock(session: Session, id: str) -> JobRow:
    """The job, which nobody else changes until this transaction ends. Raises NotFound."""
    for job in lock_all(session, JobRow.id == id):
        return job
    raise NotFound(f"no job {id!r}")


def lock_all(session: Session, which: ColumnElement[bool], skip: bool = False) -> Sequence[JobRow]:
    """As `lock`, in the order of submission; with `skip` without those that others have."""
    query = select(JobRow).where(which).order_by(JobRow.number)
    return session.scalars(locked(query, skip)).all()


def workloads_of(session: Session, job: str) -> list[JobWorkloadRow]:
    """The workloads of a job, in the order in which they were given."""
    query = select(JobWorkloadRow).where(JobWorkloadRow.job == job)
    return list(session.scalars(query.order_by(JobWorkloadRow.position)))


def page(
    session: Session, before: int | None, limit: int, state: JobState | None = None
) -> list[JobRow]:
    """Up to `limit` jobs, youngest first, from below the number `before`."""
    query = select(JobRow).order_by(JobRow.number.desc()).limit(limit)
    if before is not None:
        query = query.where(JobRow.number < before)
    if state is not None:
        query = query.where(JobRow.state == state)
    return list(session.scalars(query))


def cancel(session: Session, job: JobRow, now: float) -> None:
    """Ends a queued job; asks for the end of a running one, whose tuner then ends it.

    Queued candidates die here, leased ones when their worker beats. Does nothing the second time.
    """
    if job.state in ENDED or job.cancel:
        return
    job.cancel = True
    queue.withdraw(session, job.id)
    if job.state == JobState.QUEUED:
        end(session, job, JobState.CANCELLED, "cancelled by a user before it ran", now)


def end(session: Session, job: JobRow, state: JobState, reason: str, now: float) -> None:
    """Brings a job, and what is open of its workloads, to its final state."""
    job.state, job.reason, job.ended_at = state, reason, now
    job.tuner, job.leased_until = None, 0.0
    queue.withdraw(session, job.id)
    for row in workloads_of(session, job.id):
        if row.state not in ENDED:
            row.state, row.reason = state, reason
    data = {"state": state, "reason": reason}
    events.add(session, job, EventKind.STATE, data, now)
    events.add(session, job, EventKind.DONE, data, now)
    session.flush()


def end_overdue(session: Session, now: float) -> None:
    """Expires jobs whose deadline passed unserved; ends cancelled ones whose tuner is gone."""
    overdue = and_(JobRow.state == JobState.QUEUED, JobRow.deadline_at < now)
    for job in lock_all(session, overdue, skip=True):
        target = job.target or "any target"
        end(
            session, job, JobState.EXPIRED, f"no machine for {target} came before the deadline", now
        )
    orphans = and_(JobRow.state == JobState.RUNNING, JobRow.cancel, JobRow.leased_until < now)
    for job in lock_all(session, orphans, skip=True):
        end(session, job, JobState.CANCELLED, "cancelled by a user", now)
