"""Between rows and the plain data of tuner.record and tuner.log."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from db.clock import iso, moment_of
from db.schema import ModelRow, RecordRow, ScheduleRow, WorkloadRow
from tuner.log import LoggedWorkload, SavedModel, steps_key
from tuner.record import BestSchedule, Measurement, Purpose, Record


def workload_row(workload: LoggedWorkload, now: float) -> WorkloadRow:
    return WorkloadRow(
        hash=workload.hash,
        text=workload.text,
        names=dict(workload.names),
        op=workload.op,
        sizes=dict(workload.sizes),
        flops=workload.flops,
        io_bytes=workload.io_bytes,
        created_at=now,
    )


def workload_of(row: WorkloadRow) -> LoggedWorkload:
    return LoggedWorkload(
        hash=row.hash,
        text=row.text,
        names=row.names,
        op=row.op,
        sizes=row.sizes,
        flops=row.flops,
        io_bytes=row.io_bytes,
    )


def record_row(record: Record, now: float) -> RecordRow:
    return RecordRow(
        id=record.id,
        workload=record.workload,
        target=record.target,
        fingerprint=record.fingerprint,
        steps=record.steps,
        steps_key=steps_key(record.steps),
        purpose=str(record.purpose),
        outcome=str(record.measurement.outcome),
        measurement=record.measurement.to_json(),
        job=record.job,
        worker=record.worker,
        created_at=moment_of(record.created_at) if record.created_at else now,
        number=record.number,
        generator=record.measurement.generator,
        compiler=record.measurement.compiler,
    )


def record_of(row: RecordRow) -> Record:
    return Record(
        id=row.id,
        workload=row.workload,
        target=row.target,
        fingerprint=row.fingerprint,
        steps=row.steps,
        purpose=Purpose(row.purpose),
        measurement=Measurement.from_json(row.measurement),
        job=row.job,
        worker=row.worker,
        number=row.number,
        sequence=row.sequence,
        created_at=iso(row.created_at),
    )


def schedule_row(schedule: BestSchedule) -> ScheduleRow:
    return ScheduleRow(
        id=schedule.id,
        workload=schedule.workload,
        target=schedule.target,
        fingerprint=schedule.fingerprint,
        median_s=schedule.median_s,
        body=asdict(schedule),
    )


def schedule_of(row: ScheduleRow) -> BestSchedule:
    body: dict[str, Any] = dict(row.body)
    if body["ci_s"] is not None:
        low, high = body["ci_s"]
        body["ci_s"] = (low, high)
    body["ties"] = tuple(body["ties"])
    return BestSchedule(**body)


def model_row(model: SavedModel) -> ModelRow:
    return ModelRow(
        target=model.target, data=model.data, features=model.features, extent=model.extent
    )


def model_of(row: ModelRow) -> SavedModel:
    return SavedModel(target=row.target, data=row.data, features=row.features, extent=row.extent)
