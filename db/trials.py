"""The end of a trial: its record, its counters and its event, in one transaction."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from db import events, sql_log
from db.events import EventKind
from db.schema import CandidateRow, JobRow, JobWorkloadRow
from db.states import ENDED
from tuner.record import Measurement, Outcome, Purpose, Record


def record(
    session: Session, row: CandidateRow, worker: str, measurement: Measurement, now: float
) -> None:
    """Appends the record of candidate `row`; search trials count on the job and its workload."""
    trial = Record(
        id=row.id,
        workload=row.workload,
        target=row.target,
        fingerprint=row.fingerprint,
        steps=row.steps,
        purpose=Purpose(row.purpose),
        measurement=measurement,
        job=row.job,
        worker=worker,
        number=row.position,
    )
    sql_log.append(session, [trial], now)
    job = session.scalars(select(JobRow).where(JobRow.id == row.job)).one()
    if trial.purpose == Purpose.SEARCH:
        _count(session, job, trial)
    if job.state not in ENDED:
        events.add(session, job, EventKind.TRIAL, _event(job, trial), now)
    session.flush()


def _count(session: Session, job: JobRow, trial: Record) -> None:
    query = select(JobWorkloadRow).where(
        JobWorkloadRow.job == job.id, JobWorkloadRow.workload == trial.workload
    )
    outcome = trial.measurement.outcome
    counted: list[JobRow | JobWorkloadRow] = [job, *session.scalars(query)]
    for row in counted:
        row.done += 1
        row.failed += outcome != Outcome.OK
        if isinstance(row, JobWorkloadRow) and outcome != Outcome.OK:
            times = row.failures.get(str(outcome), 0)
            row.failures = {**row.failures, str(outcome): times + 1}


def _event(job: JobRow, trial: Record) -> dict[str, object]:
    return {
        "candidate": trial.id,
        "workload": trial.workload,
        "purpose": str(trial.purpose),
        "outcome": str(trial.measurement.outcome),
        "detail": trial.measurement.detail,
        "median_s": trial.measurement.median_s,
        "trials": {"issued": job.issued, "done": job.done, "failed": job.failed},
    }
