"""Grants of candidates to workers: claimed, kept alive, answered once, or lost.

A lease's number in the table is its fencing number. A result counts only under the lease that
holds its candidate; a lease that nobody renewed gives its candidates back to the queue.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session

from db import choice, jobs, trials
from db.schema import CandidateRow, JobRow, LeaseRow, WorkerRow
from db.setups import compiler_of
from db.states import HELD, CandidateState, LeaseState
from db.turns import locked, tell
from tuner.errors import Conflict
from tuner.record import Measurement, Outcome, Peaks

#: Lost this often, a candidate is set aside: it may be what kills its workers.
MAX_LOSSES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A worker's wish for work."""

    worker: str
    #: chosen by the worker: the same claim gets the same grant
    id: str
    targets: Sequence[str]
    max_items: int


@dataclass(frozen=True, slots=True)
class Grant:
    """What a claim got: `items` share workload, target, purpose and timing."""

    lease: LeaseRow
    job: JobRow
    items: list[CandidateRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a worker hands in under a lease: measurements by candidate id."""

    worker: str
    lease: str
    fence: int
    results: Mapping[str, Measurement]
    peaks: Peaks | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """Ids of candidates whose results were recorded now, and had been before."""

    accepted: list[str]
    replayed: list[str]


@dataclass(frozen=True, slots=True)
class Beat:
    """Leases whose work is not wanted any more, and leases that are lost."""

    cancel: list[str]
    lost: list[str]


def claim(session: Session, wish: Claim, now: float, lease_s: float) -> Grant | None:
    """The grant that this claim got before, else a new one; None if there is nothing to do."""
    # One claim of a worker at a time: it may repeat one that another server still works on.
    worker = session.scalars(locked(select(WorkerRow).where(WorkerRow.id == wish.worker))).one()
    query = select(LeaseRow).where(LeaseRow.worker == wish.worker, LeaseRow.claim == wish.id)
    lease = session.scalar(query)
    if lease is not None:
        items = _held(session, lease.id) if lease.state == LeaseState.OPEN else []
    else:
        items = choice.take(session, worker, wish.targets, wish.max_items)
        if items:
            lease = _grant(session, wish, items, now, now + lease_s)
    if lease is None or not items:
        return None
    job = session.scalars(select(JobRow).where(JobRow.id == lease.job)).one()
    return Grant(lease, job, items)


def has_work(session: Session, wish: Claim) -> bool:
    """Whether `claim` would grant something; needs no writing transaction to know."""
    query = select(LeaseRow.id).where(LeaseRow.worker == wish.worker, LeaseRow.claim == wish.id)
    worker = session.get_one(WorkerRow, wish.worker)
    return session.scalar(query) is not None or choice.is_there(session, worker, wish.targets)


def _grant(
    session: Session, wish: Claim, items: list[CandidateRow], now: float, expires_at: float
) -> LeaseRow:
    lease = LeaseRow(
        id=uuid.uuid4().hex,
        worker=wish.worker,
        claim=wish.id,
        job=items[0].job,
        state=LeaseState.OPEN,
        expires_at=expires_at,
        granted_at=now,
    )
    session.add(lease)
    session.flush()
    for row in items:
        row.state, row.lease = CandidateState.LEASED, lease.id
    session.flush()
    return lease


def _held(session: Session, lease: str) -> list[CandidateRow]:
    query = select(CandidateRow).where(CandidateRow.lease == lease, CandidateRow.state.in_(HELD))
    return list(session.scalars(query.order_by(CandidateRow.number)))


def beat(session: Session, worker: str, ids: Sequence[str], expires_at: float) -> Beat:
    """Renews the open ones of the leases `ids` of `worker`."""
    query = select(LeaseRow).where(LeaseRow.worker == worker, LeaseRow.id.in_(ids))
    found = {row.id: row for row in session.scalars(locked(query.order_by(LeaseRow.fence)))}
    cancel, lost = [], [id for id in ids if id not in found]
    for lease in found.values():
        if lease.state == LeaseState.LOST:
            lost.append(lease.id)
        elif lease.state == LeaseState.OPEN:
            lease.expires_at = expires_at
            states = {row.state for row in _held(session, lease.id)}
            if CandidateState.WITHDRAWN in states:
                cancel.append(lease.id)
    return Beat(cancel, lost)


def report(session: Session, said: Report, now: float) -> Receipt:
    """Records results, each once, and the machine's peaks where the job has none yet.

    Raises Conflict, and records nothing, unless the lease holds every candidate that is new.
    """
    lease = session.scalar(select(LeaseRow).where(LeaseRow.id == said.lease))
    if lease is None or (lease.fence, lease.worker) != (said.fence, said.worker):
        raise Conflict(f"worker {said.worker!r} has no lease {said.lease!r} with {said.fence}")
    job = jobs.lock(session, lease.job)
    session.scalars(locked(select(LeaseRow).where(LeaseRow.id == lease.id))).one()
    query = select(CandidateRow).where(
        CandidateRow.lease == lease.id, CandidateRow.id.in_(list(said.results))
    )
    rows = {row.id: row for row in session.scalars(query)}
    receipt = Receipt([], [])
    ended: list[tuple[CandidateRow, Measurement]] = []
    for id, measurement in said.results.items():
        row = rows.get(id)
        if row is not None and row.state == CandidateState.DONE:
            receipt.replayed.append(id)
        elif row is not None and lease.state == LeaseState.OPEN and row.state in HELD:
            if _settle(row, measurement):
                ended.append((row, measurement))
            receipt.accepted.append(id)
        elif measurement.outcome == Outcome.CANCELLED:
            receipt.replayed.append(id)
        else:
            raise Conflict(f"lease {said.lease!r} does not hold candidate {id!r} any more")
    if said.peaks is not None and job.peaks is None:
        job.peaks = asdict(said.peaks)
    if lease.state == LeaseState.OPEN and not _held(session, lease.id):
        lease.state, lease.ended_at = LeaseState.ANSWERED, now
    trials.record(session, job, lease.worker, ended, now)
    tell(session)
    return receipt


def _settle(row: CandidateRow, measurement: Measurement) -> bool:
    """Whether the candidate is done. A worker that cancelled it has not tried it: unless nobody
    wants it, it goes back to the queue, and that does not count as a loss."""
    if measurement.outcome == Outcome.CANCELLED:
        wanted = row.state == CandidateState.LEASED
        row.state = CandidateState.QUEUED if wanted else CandidateState.CANCELLED
        return False
    row.state = CandidateState.DONE
    return True


def lose_all(session: Session, worker: str, now: float) -> None:
    """Every open lease of `worker` is lost."""
    _lose_open(session, LeaseRow.worker == worker, now, skip=False)


def reap(session: Session, now: float) -> int:
    """Every open lease that nobody renewed in time is lost; returns how many. Those of jobs that
    others work on just now have to wait for the next pass."""
    return _lose_open(session, LeaseRow.expires_at < now, now, skip=True)


def _lose_open(session: Session, which: ColumnElement[bool], now: float, skip: bool) -> int:
    """`which` of the open leases are lost; returns how many."""
    open_ = and_(LeaseRow.state == LeaseState.OPEN, which)
    of_them = JobRow.id.in_(select(LeaseRow.job).where(open_))
    by_id = {job.id: job for job in jobs.lock_all(session, of_them, skip)}
    query = select(LeaseRow).where(open_, LeaseRow.job.in_(by_id)).order_by(LeaseRow.fence)
    found = session.scalars(locked(query)).all()
    for lease in found:
        _lose(session, by_id[lease.job], lease, now)
    return len(found)


def _lose(session: Session, job: JobRow, lease: LeaseRow, now: float) -> None:
    lease.state, lease.ended_at = LeaseState.LOST, now
    dead = []
    worker = session.get_one(WorkerRow, lease.worker)
    for row in _held(session, lease.id):
        if row.state == CandidateState.WITHDRAWN:
            row.state = CandidateState.CANCELLED
            continue
        row.losses += 1
        if row.losses < MAX_LOSSES:
            row.state = CandidateState.QUEUED
            continue
        row.state = CandidateState.DONE
        dead.append((row, _lost_measurement(row, worker)))
    trials.record(session, job, lease.worker, dead, now)
    tell(session)


def _lost_measurement(row: CandidateRow, worker: WorkerRow) -> Measurement:
    return Measurement(
        outcome=Outcome.WORKER_LOST,
        detail=f"{row.losses} workers were lost while they had it; set aside",
        generator=worker.generator,
        compiler=compiler_of(worker, row.target),
    )
