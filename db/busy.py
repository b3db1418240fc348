"""How much of a job's time its workers had something of it to do."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from sqlalchemy import select
from sqlalchemy.orm import Session

from db.schema import JobRow, LeaseRow


def idle_share(session: Session, job: JobRow) -> float | None:
    """Share of an ended job's seconds in which those workers that had a lease of it had none.

    A worker with a lease builds, checks or times. None while the job runs, and where nobody had a
    lease.
    """
    if job.started_at is None or job.ended_at is None or job.ended_at <= job.started_at:
        return None
    query = (
        select(LeaseRow.worker, LeaseRow.granted_at, LeaseRow.ended_at)
        .where(LeaseRow.job == job.id)
        .order_by(LeaseRow.worker, LeaseRow.granted_at)
    )
    spans = [
        (worker, begun, min(job.ended_at if ended is None else ended, job.ended_at))
        for worker, begun, ended in session.execute(query)
        if begun is not None
    ]
    workers = [
        _covered((begun, ended) for _, begun, ended in held)
        for _, held in groupby(spans, key=lambda span: span[0])
    ]
    if not workers:
        return None
    return 1.0 - sum(workers) / len(workers) / (job.ended_at - job.started_at)


def _covered(spans: Iterable[tuple[float, float]]) -> float:
    """Length of the union of spans that are ordered by their beginnings."""
    covered, until = 0.0, float("-inf")
    for begun, ended in spans:
        covered += max(0.0, ended - max(begun, until))
        until = max(until, ended)
    return covered
