"""The queue of candidates, as a tuner sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from db.schema import CandidateRow, JobRow
from db.states import CandidateState
from db.turns import tell
from tuner.errors import Conflict
from tuner.record import Candidate, Purpose, Timing


def submit(session: Session, job: JobRow, candidates: Sequence[Candidate]) -> list[str]:
    """Queues candidates and charges the budget of `job`, which is locked; returns the ids
    that were there already.

    Raises Conflict where the search trials among them exceed what is left of the budget.
    """
    query = select(CandidateRow.id).where(CandidateRow.id.in_([c.id for c in candidates]))
    known = set(session.scalars(query))
    fresh = [c for c in candidates if c.id not in known]
    searched = sum(c.purpose == Purpose.SEARCH for c in fresh)
    if job.issued + searched > job.budget_trials:
        raise Conflict(
            f"job {job.id}: {searched} more search trials after {job.issued} exceed its budget "
            f"of {job.budget_trials}"
        )
    job.issued += searched
    session.add_all(_row(job, candidate) for candidate in fresh)
    session.flush()
    tell(session)
    return [c.id for c in candidates if c.id in known]


def _row(job: JobRow, candidate: Candidate) -> CandidateRow:
    if job.fingerprint is None:
        raise Conflict(f"job {job.id}: no machine was chosen for it yet")
    return CandidateRow(
        id=candidate.id,
        job=job.id,
        workload=candidate.workload,
        target=candidate.target,
        fingerprint=job.fingerprint,
        steps=candidate.steps,
        purpose=str(candidate.purpose),
        timing=asdict(candidate.timing),
        state=CandidateState.QUEUED,
        position=candidate.number,
    )


def outstanding(session: Session, job: str) -> list[Candidate]:
    """The candidates of `job` without a result, in the order of submission."""
    query = (
        select(CandidateRow)
        .where(
            CandidateRow.job == job,
            CandidateRow.state.in_((CandidateState.QUEUED, CandidateState.LEASED)),
        )
        .order_by(CandidateRow.number)
    )
    return [candidate_of(row) for row in session.scalars(query)]


def pending_elsewhere(session: Session, job: JobRow, workload: str) -> list[Candidate]:
    """Search candidates of `workload` that other jobs have in the queue for the setup of `job`."""
    query = (
        select(CandidateRow)
        .join(JobRow, JobRow.id == CandidateRow.job)
        .where(
            CandidateRow.state.in_((CandidateState.QUEUED, CandidateState.LEASED)),
            CandidateRow.target == job.target,
            CandidateRow.workload == workload,
            CandidateRow.fingerprint == job.fingerprint,
            CandidateRow.purpose == Purpose.SEARCH,
            CandidateRow.job != job.id,
            JobRow.compiler == job.compiler,
        )
        .order_by(CandidateRow.number)
    )
    return [candidate_of(row) for row in session.scalars(query)]


def candidate_of(row: CandidateRow) -> Candidate:
    return Candidate(
        id=row.id,
        workload=row.workload,
        target=row.target,
        steps=row.steps,
        purpose=Purpose(row.purpose),
        timing=Timing(**row.timing),
        number=row.position,
    )


def withdraw(session: Session, job: str) -> None:
    """Queued candidates of `job` die; of leased ones the worker is told when it beats."""
    for old, new in (
        (CandidateState.QUEUED, CandidateState.CANCELLED),
        (CandidateState.LEASED, CandidateState.WITHDRAWN),
    ):
        session.execute(
            update(CandidateRow)
            .where(CandidateRow.job == job, CandidateRow.state == old)
            .values(state=new)
        )
