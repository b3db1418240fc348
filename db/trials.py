"""The end of a trial: its record, its counters and its event, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from db import events, jobs, sql_log
from db.events import EventKind
from db.schema import CandidateRow, JobRow, JobWorkloadRow
from db.states import ENDED
from tuner.record import Measurement, Outcome, Purpose, Record


def record(
    session: Session,
    job: JobRow,
    worker: str,
    ended: Sequence[tuple[CandidateRow, Measurement]],
    now: float,
) -> None:
    """Appends the records of candidates of `job`, which is locked; search trials count on the job
    and their workloads."""
    trials = [_trial(row, worker, measurement) for row, measurement in ended]
    workloads = jobs.workloads_of(session, job.id) if trials else []
    for trial in trials:
        if trial.purpose == Purpose.SEARCH:
            _count(job, [row for row in workloads if row.workload == trial.workload], trial)
        if job.state not in ENDED:
            events.add(session, job, EventKind.TRIAL, _event(job, trial), now)
    session.flush()
    # At last, for whoever else adds to the log waits from here on.
    sql_log.append(session, trials, now)


def _trial(row: CandidateRow, worker: str, measurement: Measurement) -> Record:
    return Record(
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


def _count(job: JobRow, workloads: Sequence[JobWorkloadRow], trial: Record) -> None:
    outcome = trial.measurement.outcome
    counted: list[JobRow | JobWorkloadRow] = [job, *workloads]
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
