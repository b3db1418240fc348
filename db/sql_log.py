"""The tuning log on the database; the same protocol as tuner.log.MemoryLog."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from db.clock import Clock
from db.engine import Database
from db.rows import (
    model_of,
    model_row,
    record_of,
    record_row,
    schedule_of,
    schedule_row,
    workload_of,
    workload_row,
)
from db.schema import ModelRow, RecordRow, ScheduleRow, SourceRow, WorkloadRow
from db.turns import LOG, in_turn
from tuner.errors import Conflict, NotFound
from tuner.log import (
    UNMEASURED,
    LoggedWorkload,
    RecordFilter,
    SavedModel,
    no_workload,
    require_sha256,
    same_trial,
)
from tuner.record import BestSchedule, Outcome, Purpose, Record, Setup, Timed

_T = TypeVar("_T")
#: Records that one statement asks for or inserts.
_AT_ONCE = 500


class SqlLog:
    """A TuningLog whose every call is one transaction."""

    def __init__(self, database: Database, clock: Clock | None = None) -> None:
        self._database = database
        self._clock = clock or database.now

    def add_workload(self, workload: LoggedWorkload) -> None:
        with self._database.write() as session:
            add_workload(session, workload, self._clock())

    def workload(self, hash: str) -> LoggedWorkload:
        with self._database.read() as session:
            row = session.get(WorkloadRow, hash)
            if row is None:
                raise NotFound(f"no workload {hash!r} in the log")
            return workload_of(row)

    def append(self, records: Sequence[Record], workloads: Sequence[LoggedWorkload] = ()) -> int:
        with self._database.write() as session:
            for workload in workloads:
                add_workload(session, workload, self._clock())
            return append(session, records, self._clock())

    def records(
        self, where: RecordFilter, after: int = 0, limit: int | None = None
    ) -> list[Record]:
        query = select(RecordRow).where(RecordRow.sequence > after).order_by(RecordRow.sequence)
        with self._database.read() as session:
            found = session.scalars(_filtered(query, where).limit(limit))
            return [record_of(row) for row in found]

    def issued(self, job: str, skip: int = 0, limit: int | None = None) -> list[Record]:
        query = select(RecordRow).where(RecordRow.job == job)
        ordered = query.order_by(RecordRow.number, RecordRow.sequence)
        with self._database.read() as session:
            found = session.scalars(ordered.offset(skip).limit(limit))
            return [record_of(row) for row in found]

    def measured(self, workload: str, target: str, setup: Setup) -> frozenset[str]:
        where = RecordFilter(workload=workload, target=target, setup=setup, purpose=Purpose.SEARCH)
        query = _filtered(select(RecordRow.steps_key), where).where(
            RecordRow.outcome.not_in(sorted(UNMEASURED))
        )
        with self._database.read() as session:
            return frozenset(session.scalars(query))

    def timed(self, target: str) -> list[Timed]:
        median_s = RecordRow.measurement["median_s"].as_float()
        query = select(
            RecordRow.id, RecordRow.sequence, RecordRow.workload, RecordRow.fingerprint,
            RecordRow.generator, RecordRow.compiler, median_s,
        ).order_by(RecordRow.sequence)  # fmt: skip
        where = RecordFilter(target=target, purpose=Purpose.SEARCH, outcome=Outcome.OK)
        with self._database.read() as session:
            return [
                Timed(id, sequence, workload, Setup(*setup), seconds)
                for id, sequence, workload, *setup, seconds in session.execute(
                    _filtered(query, where)
                )
                if seconds is not None
            ]

    def targets(self) -> frozenset[str]:
        with self._database.read() as session:
            return frozenset(session.scalars(select(RecordRow.target).distinct()))

    def set_best(self, schedules: Sequence[BestSchedule]) -> None:
        with self._database.write() as session:
            for schedule in schedules:
                set_best(session, schedule)

    def best(
        self, workload: str, target: str, k: int = 1, fingerprint: str | None = None
    ) -> list[BestSchedule]:
        query = select(ScheduleRow).where(
            ScheduleRow.workload == workload, ScheduleRow.target == target
        )
        with self._database.read() as session:
            if fingerprint is None:
                last = session.scalar(query.order_by(ScheduleRow.position.desc()).limit(1))
                fingerprint = last.fingerprint if last else ""
            found = session.scalars(
                query.where(ScheduleRow.fingerprint == fingerprint)
                .order_by(ScheduleRow.median_s, ScheduleRow.id)
                .limit(k)
            )
            return [schedule_of(row) for row in found]

    def schedule(self, id: str) -> BestSchedule:
        with self._database.read() as session:
            row = session.scalar(select(ScheduleRow).where(ScheduleRow.id == id))
            if row is None:
                raise NotFound(f"no schedule {id!r} in the log")
            return schedule_of(row)

    def add_source(self, sha256: str, text: str) -> None:
        require_sha256(sha256, text)
        with self._database.write() as session:
            in_turn(session, LOG)
            session.merge(SourceRow(sha256=sha256, text=text))

    def source(self, sha256: str) -> str:
        with self._database.read() as session:
            row = session.get(SourceRow, sha256)
            if row is None:
                raise NotFound(f"no source {sha256!r} in the log")
            return row.text

    def save_model(self, model: SavedModel) -> None:
        with self._database.write() as session:
            in_turn(session, LOG)
            session.merge(model_row(model))

    def model(self, target: str) -> SavedModel | None:
        with self._database.read() as session:
            row = session.get(ModelRow, target)
            return None if row is None else model_of(row)


def add_workload(session: Session, workload: LoggedWorkload, now: float) -> None:
    """Adds it in the caller's transaction; the first entry of a hash stays."""
    if session.get(WorkloadRow, workload.hash) is not None:
        return
    in_turn(session, LOG)
    if session.get(WorkloadRow, workload.hash) is None:
        session.add(workload_row(workload, now))
        session.flush()


def append(session: Session, records: Sequence[Record], now: float) -> int:
    """Appends in the caller's transaction; how many were new, see TuningLog.append."""
    if records:
        in_turn(session, LOG)
    return sum(
        _append_some(session, records[first : first + _AT_ONCE], now)
        for first in range(0, len(records), _AT_ONCE)
    )


def _append_some(session: Session, records: Sequence[Record], now: float) -> int:
    by_id = select(RecordRow).where(RecordRow.id.in_([r.id for r in records]))
    known = {row.id: record_of(row) for row in session.scalars(by_id)}
    hashes = select(WorkloadRow.hash).where(WorkloadRow.hash.in_({r.workload for r in records}))
    workloads = set(session.scalars(hashes))
    fresh: dict[str, Record] = {}
    for record in records:
        older = known.get(record.id) or fresh.get(record.id)
        if older is not None and not same_trial(older, record):
            raise Conflict(f"record {record.id!r} is in the log with another content")
        if older is None and record.workload not in workloads:
            raise no_workload(record)
        if older is None:
            fresh[record.id] = record
    session.add_all(record_row(record, now) for record in fresh.values())
    session.flush()
    return len(fresh)


def set_best(session: Session, schedule: BestSchedule) -> None:
    """Puts it in place of the one with its id, in the caller's transaction."""
    in_turn(session, LOG)
    older = session.scalar(select(ScheduleRow).where(ScheduleRow.id == schedule.id))
    if older is not None:
        session.delete(older)
        session.flush()
    session.add(schedule_row(schedule))
    session.flush()


def _filtered(query: Select[_T], where: RecordFilter) -> Select[_T]:
    for column, wanted in (
        (RecordRow.workload, where.workload),
        (RecordRow.target, where.target),
        (RecordRow.fingerprint, where.fingerprint),
        (RecordRow.job, where.job),
        (RecordRow.purpose, where.purpose),
        (RecordRow.outcome, where.outcome),
    ):
        if wanted is not None:
            query = query.where(column == wanted)
    if where.ids is not None:
        query = query.where(RecordRow.id.in_(where.ids))
    if where.setup is not None:
        query = query.where(
            RecordRow.fingerprint == where.setup.fingerprint,
            RecordRow.generator == where.setup.generator,
            RecordRow.compiler.in_((where.setup.compiler, "")),
        )
    return query
