"""Rows and plain data as the JSON of the public surface."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from sqlalchemy import select
from sqlalchemy.orm import Session

from db import busy, jobs
from db.clock import iso
from db.rows import schedule_of
from db.schema import JobRow, JobWorkloadRow, ScheduleRow, WorkerRow
from server.record_schemas import RecordOut
from server.schemas import (
    BudgetOut,
    JobOut,
    JobWorkloadOut,
    LoggedWorkloadOut,
    PeaksOut,
    ScheduleOut,
    Trials,
    WorkerOut,
    WorkloadTrials,
)
from tuner.log import LoggedWorkload
from tuner.record import BestSchedule, Record


def job_view(session: Session, job: JobRow) -> JobOut:
    """A job with its workloads and their best schedules."""
    rows = jobs.workloads_of(session, job.id)
    best = _schedules(session, [row.best for row in rows if row.best])
    return JobOut(
        id=job.id,
        state=job.state,
        reason=job.reason,
        cancel_requested=job.cancel,
        target=job.target,
        fingerprint=job.fingerprint,
        strategy=job.strategy,
        seed=job.seed,
        priority=job.priority,
        more=job.more,
        budget=BudgetOut(trials=job.budget_trials, seconds=job.budget_s),
        deadline_at=iso(job.deadline_at),
        created_at=iso(job.created_at),
        started_at=None if job.started_at is None else iso(job.started_at),
        ended_at=None if job.ended_at is None else iso(job.ended_at),
        trials=Trials(issued=job.issued, done=job.done, failed=job.failed),
        peaks=None if job.peaks is None else PeaksOut(**job.peaks),
        spent=job.spent,
        idle_share=busy.idle_share(session, job),
        workloads=[_workload_view(row, best.get(row.best or "")) for row in rows],
    )


def _workload_view(row: JobWorkloadRow, best: BestSchedule | None) -> JobWorkloadOut:
    return JobWorkloadOut(
        hash=row.workload,
        name=row.name,
        op=row.op,
        sizes=row.sizes,
        weight=row.weight,
        state=row.state,
        reason=row.reason,
        trials=WorkloadTrials(done=row.done, failed=row.failed),
        failures=row.failures,
        best=None if best is None else schedule_view(best),
    )


def _schedules(session: Session, ids: Iterable[str]) -> dict[str, BestSchedule]:
    rows = session.scalars(select(ScheduleRow).where(ScheduleRow.id.in_(list(ids))))
    return {row.id: schedule_of(row) for row in rows}


def schedule_view(schedule: BestSchedule) -> ScheduleOut:
    url = f"/v1/schedules/{schedule.id}"
    return ScheduleOut(**asdict(schedule), source_url=f"{url}/source", program_url=f"{url}/program")


def worker_view(worker: WorkerRow, live_since: float) -> WorkerOut:
    return WorkerOut(
        id=worker.id,
        name=worker.name,
        fingerprint=worker.fingerprint,
        facts=worker.facts,
        targets=worker.targets,
        generator=worker.generator,
        compiler=worker.compiler,
        version=worker.version,
        enrolled_at=iso(worker.enrolled_at),
        seen_at=iso(worker.seen_at),
        live=worker.seen_at > live_since,
    )


def record_view(record: Record) -> RecordOut:
    return RecordOut(**{**asdict(record), "measurement": record.measurement.to_json()})


def workload_view(workload: LoggedWorkload) -> LoggedWorkloadOut:
    return LoggedWorkloadOut(
        hash=workload.hash,
        program=workload.text,
        names=dict(workload.names),
        op=workload.op,
        sizes=dict(workload.sizes),
        flops=workload.flops,
        io_bytes=workload.io_bytes,
    )
