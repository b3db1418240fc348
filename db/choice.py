"""Which candidates go out to a worker together."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Select, and_, or_, select
from sqlalchemy.orm import Session

from db.schema import CandidateRow, JobRow, WorkerRow
from db.setups import compiler_of
from db.states import CandidateState
from db.turns import in_turn, locked
from tuner.record import Purpose


def take(
    session: Session, worker: WorkerRow, targets: Sequence[str], limit: int
) -> list[CandidateRow]:
    """What goes out to `worker`, locked, at most `limit`; what another claim has is left to it."""
    urgent = _by_urgency(worker, targets)
    first = session.scalar(urgent)
    if first is not None and first.purpose == Purpose.PLAYOFF:
        # Leaders belong together, so no two claims may share them out.
        in_turn(session, f"playoff {first.job}")
        rows = session.scalars(locked(_alike(first, limit))).all()
        if rows:
            return _batch(rows[0], rows)
    searched = urgent.where(CandidateRow.purpose != Purpose.PLAYOFF)
    first = session.scalar(locked(searched, skip=True, of=CandidateRow))
    if first is None:
        return []
    rows = session.scalars(locked(_alike(first, limit), skip=True)).all()
    return _batch(first, rows)


def is_there(session: Session, worker: WorkerRow, targets: Sequence[str]) -> bool:
    """Whether there is something that `take` may find."""
    return session.scalar(_by_urgency(worker, targets)) is not None


def _by_urgency(worker: WorkerRow, targets: Sequence[str]) -> Select[CandidateRow]:
    """The candidate that `worker` should get first."""
    # Another compiler makes other times: a job's candidates go to workers that have its own.
    builds = [
        and_(CandidateRow.target == target, JobRow.compiler == compiler_of(worker, target))
        for target in targets
    ]
    return (
        select(CandidateRow)
        .join(JobRow, JobRow.id == CandidateRow.job)
        .where(
            CandidateRow.state == CandidateState.QUEUED,
            CandidateRow.fingerprint == worker.fingerprint,
            or_(*builds),
        )
        .order_by(JobRow.priority.desc(), CandidateRow.number)
        .limit(1)
    )


def _alike(first: CandidateRow, limit: int) -> Select[CandidateRow]:
    """Queued candidates that may go out with `first`, it among them."""
    return (
        select(CandidateRow)
        .where(
            CandidateRow.state == CandidateState.QUEUED,
            CandidateRow.fingerprint == first.fingerprint,
            CandidateRow.job == first.job,
            CandidateRow.workload == first.workload,
            CandidateRow.target == first.target,
            CandidateRow.purpose == first.purpose,
        )
        .order_by(CandidateRow.number)
        .limit(limit)
    )


def _batch(first: CandidateRow, rows: Sequence[CandidateRow]) -> list[CandidateRow]:
    """What goes out together. Leaders of a play-off belong together; else one that was lost goes
    alone, so that it takes no other candidate with it should it kill the worker again."""
    together = [row for row in rows if row.timing == first.timing]
    if first.purpose == Purpose.PLAYOFF:
        return together
    return [first] if first.losses else [row for row in together if not row.losses]
