"""What happened to a job, numbered from 1 in the transaction that did it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from db.schema import EventRow, JobRow
from db.turns import tell


class EventKind(StrEnum):
    """Kinds of events, as they are streamed."""

    STATE = "state"
    TRIAL = "trial"
    ROUND = "round"
    BEST = "best"
    #: the last one of a job
    DONE = "done"


def add(session: Session, job: JobRow, kind: EventKind, data: dict[str, Any], now: float) -> None:
    """Adds the next event of `job`, which this transaction has locked or made."""
    job.last_event += 1
    session.add(
        EventRow(job=job.id, number=job.last_event, kind=str(kind), data=data, created_at=now)
    )
    tell(session)


def since(session: Session, job: str, after: int, limit: int) -> list[EventRow]:
    """Up to `limit` events of `job` with a number above `after`, in order."""
    query = (
        select(EventRow)
        .where(EventRow.job == job, EventRow.number > after)
        .order_by(EventRow.number)
        .limit(limit)
    )
    return list(session.scalars(query))
