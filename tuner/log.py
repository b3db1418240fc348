"""The tuning log: what every search reads and writes, and its twin in memory.

A log keeps workloads, records (a trial each), the best verified schedules with the text of their
sources, and cost models. It hands out copies; nothing that a caller does to them changes the log.
Every implementation passes tests/conformance/test_tuning_log.py. Times are seconds, sizes bytes.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from tuner.errors import Conflict, NotFound
from tuner.record import BestSchedule, Outcome, Purpose, Record, Setup, Timed

#: Outcomes that say nothing about the schedule: it may be tried again.
UNMEASURED = frozenset({Outcome.CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedWorkload:
    """A workload as the log keeps it; equal hashes are the same computation."""

    hash: str
    #: canonical program text
    text: str
    #: canonical name -> the name its first submitter gave
    names: Mapping[str, str] = field(default_factory=dict)
    #: catalogue operator it was made by, None for a program text
    op: str | None = None
    sizes: Mapping[str, int | str] = field(default_factory=dict)
    flops: int = 0
    io_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """Which records; None leaves a field free."""

    workload: str | None = None
    target: str | None = None
    fingerprint: str | None = None
    job: str | None = None
    purpose: Purpose | None = None
    outcome: Outcome | None = None
    setup: Setup | None = None
    ids: frozenset[str] | None = None

    def accepts(self, record: Record) -> bool:
        if self.setup is not None and not self.setup.made(record):
            return False
        if self.ids is not None and record.id not in self.ids:
            return False
        return all(
            wanted is None or wanted == found
            for wanted, found in (
                (self.workload, record.workload),
                (self.target, record.target),
                (self.fingerprint, record.fingerprint),
                (self.job, record.job),
                (self.purpose, record.purpose),
                (self.outcome, record.measurement.outcome),
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedModel:
    """A fitted cost model."""

    target: str
    #: XGBoost's own JSON
    data: bytes
    #: version of the features it reads; another version cannot use it
    features: str
    #: sequence of the last record it was fitted on
    extent: int


def steps_key(steps: Mapping[str, Any]) -> str:
    """32 hex digits that name a schedule's JSON form whatever the order of its keys."""
    text = json.dumps(steps, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def schedule_id(workload: str, target: str, fingerprint: str, steps: Mapping[str, Any]) -> str:
    """The id of a best schedule: the same schedule measured again on a machine keeps it."""
    text = "\n".join((workload, target, fingerprint, steps_key(steps)))
    return "s1:" + hashlib.sha256(text.encode()).hexdigest()[:32]


def require_sha256(sha256: str, text: str) -> None:
    """Raises Conflict unless `sha256` is the hex digest of `text` in UTF-8."""
    found = hashlib.sha256(text.encode()).hexdigest()
    if found != sha256:
        raise Conflict(f"source text has sha256 {found}, but was to be kept as {sha256}")


def same_trial(a: Record, b: Record) -> bool:
    """Whether two records tell the same, apart from what the log itself gave them."""
    return replace(a, sequence=0, created_at="") == replace(b, sequence=0, created_at="")


def no_workload(record: Record) -> NotFound:
    """What to say of a record whose workload was never added."""
    return NotFound(f"record {record.id!r}: no workload {record.workload!r} in the log")


class TuningLog(Protocol):
    """What the tuning loop needs to remember. Methods may be called from several threads."""

    def add_workload(self, workload: LoggedWorkload) -> None:
        """Keeps it; the first entry of a hash stays."""

    def workload(self, hash: str) -> LoggedWorkload:
        """Raises NotFound."""

    def append(self, records: Sequence[Record], workloads: Sequence[LoggedWorkload] = ()) -> int:
        """Adds workloads and appends records in order, all or nothing; returns how many records
        were new. Records without a moment get that of now.

        A record whose id is there already is left out. Raises Conflict if it tells another story,
        and NotFound if its workload was never added.
        """

    def records(
        self, where: RecordFilter, after: int = 0, limit: int | None = None
    ) -> list[Record]:
        """Records with sequence > `after`, in the order of their sequence."""

    def issued(self, job: str, skip: int = 0, limit: int | None = None) -> list[Record]:
        """The records of a job but the first `skip`, in the order of their numbers."""

    def measured(self, workload: str, target: str, setup: Setup) -> frozenset[str]:
        """`steps_key` of every schedule that has had its search trial on this setup."""

    def timed(self, target: str) -> list[Timed]:
        """The target's search trials that passed, in the order of their sequence."""

    def targets(self) -> frozenset[str]:
        """Names of all targets that have records."""

    def set_best(self, schedules: Sequence[BestSchedule]) -> None:
        """Keeps them, each in place of an older one with its id."""

    def best(
        self, workload: str, target: str, k: int = 1, fingerprint: str | None = None
    ) -> list[BestSchedule]:
        """Up to `k` schedules of one machine, fastest median first.

        Without a fingerprint: of the machine whose schedules were set last, since times of two
        machines do not compare.
        """

    def schedule(self, id: str) -> BestSchedule:
        """Raises NotFound."""

    def add_source(self, sha256: str, text: str) -> None:
        """Raises Conflict where the digest is not the text's."""

    def source(self, sha256: str) -> str:
        """Raises NotFound."""

    def save_model(self, model: SavedModel) -> None:
        """Keeps it in place of the target's older one."""

    def model(self, target: str) -> SavedModel | None:
        """The target's model, None if none was saved."""


class MemoryLog:
    """A TuningLog that lives as long as its process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workloads: dict[str, LoggedWorkload] = {}
        self._records: list[Record] = []
        self._by_id: dict[str, Record] = {}
        self._best: dict[str, BestSchedule] = {}
        self._sources: dict[str, str] = {}
        self._models: dict[str, SavedModel] = {}

    def add_workload(self, workload: LoggedWorkload) -> None:
        with self._lock:
            self._workloads.setdefault(workload.hash, workload)

    def workload(self, hash: str) -> LoggedWorkload:
        with self._lock:
            if hash not in self._workloads:
                raise NotFound(f"no workload {hash!r} in the log")
            return self._workloads[hash]

    def append(self, records: Sequence[Record], workloads: Sequence[LoggedWorkload] = ()) -> int:
        with self._lock:
            added = {w.hash: w for w in reversed(workloads)} | self._workloads
            fresh: dict[str, Record] = {}
            for record in records:
                known = self._by_id.get(record.id) or fresh.get(record.id)
                if known is None:
                    if record.workload not in added:
                        raise no_workload(record)
                    fresh[record.id] = self._numbered(record, len(fresh))
                elif not same_trial(known, record):
                    raise Conflict(f"record {record.id!r} is in the log with another content")
            self._workloads = added
            self._by_id.update(fresh)
            self._records.extend(fresh.values())
            return len(fresh)

    def _numbered(self, record: Record, offset: int) -> Record:
        sequence = len(self._records) + offset + 1
        created_at = record.created_at or datetime.now(UTC).isoformat()
        return replace(record, sequence=sequence, created_at=created_at)

    def records(
        self, where: RecordFilter, after: int = 0, limit: int | None = None
    ) -> list[Record]:
        with self._lock:
            found = [r for r in self._records if r.sequence > after and where.accepts(r)]
        return found if limit is None else found[:limit]

    def issued(self, job: str, skip: int = 0, limit: int | None = None) -> list[Record]:
        found = sorted(self.records(RecordFilter(job=job)), key=lambda r: (r.number, r.sequence))
        return found[skip:] if limit is None else found[skip : skip + limit]

    def measured(self, workload: str, target: str, setup: Setup) -> frozenset[str]:
        where = RecordFilter(workload=workload, target=target, setup=setup, purpose=Purpose.SEARCH)
        found = self.records(where)
        return frozenset(
            steps_key(r.steps) for r in found if r.measurement.outcome not in UNMEASURED
        )

    def timed(self, target: str) -> list[Timed]:
        where = RecordFilter(target=target, purpose=Purpose.SEARCH, outcome=Outcome.OK)
        return [
            Timed(r.id, r.sequence, r.workload, Setup.of(r), r.measurement.median_s)
            for r in self.records(where)
            if r.measurement.median_s is not None
        ]

    def targets(self) -> frozenset[str]:
        return frozenset(r.target for r in self.records(RecordFilter()))

    def set_best(self, schedules: Sequence[BestSchedule]) -> None:
        with self._lock:
            for schedule in schedules:
                # Taken out first: the order of the dict tells which machine was set last.
                self._best.pop(schedule.id, None)
                self._best[schedule.id] = schedule

    def best(
        self, workload: str, target: str, k: int = 1, fingerprint: str | None = None
    ) -> list[BestSchedule]:
        with self._lock:
            found = [s for s in self._best.values() if (s.workload, s.target) == (workload, target)]
        machine = fingerprint or (found[-1].fingerprint if found else "")
        ranked = sorted(found, key=lambda s: (s.median_s, s.id))
        return [s for s in ranked if s.fingerprint == machine][:k]

    def schedule(self, id: str) -> BestSchedule:
        with self._lock:
            if id not in self._best:
                raise NotFound(f"no schedule {id!r} in the log")
            return self._best[id]

    def add_source(self, sha256: str, text: str) -> None:
        require_sha256(sha256, text)
        with self._lock:
            self._sources[sha256] = text

    def source(self, sha256: str) -> str:
        with self._lock:
            if sha256 not in self._sources:
                raise NotFound(f"no source {sha256!r} in the log")
            return self._sources[sha256]

    def save_model(self, model: SavedModel) -> None:
        with self._lock:
            self._models[model.target] = model

    def model(self, target: str) -> SavedModel | None:
        with self._lock:
            return self._models.get(target)
