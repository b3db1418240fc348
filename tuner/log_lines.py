"""The tuning log as JSON lines: a workload or a record a line, each with the version of its form.

{"v": 1, "kind": "workload", "hash": …, "text": …, "names": …, "op": …, "sizes": …, …}
{"v": 1, "kind": "record", "id": …, "workload": …, "steps": …, "measurement": …, …}
{"v": 1, "kind": "trial", …}      what does not vary between two runs; cannot be imported

A workload comes before its records. Best schedules, sources and models are not told: they are
conclusions, and whoever imports draws their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from datetime import datetime
from typing import Any

from tuner.errors import LineRefused
from tuner.log import LoggedWorkload, RecordFilter, TuningLog
from tuner.record import Measurement, Purpose, Record

VERSION = 1
#: Records that are held in memory at a time.
PAGE = 200
MAX_NAME = 255
#: A record's position in the log is the log's own.
_RECORD = tuple(field.name for field in fields(Record) if field.name != "sequence")
#: What a measurement tells of the moment and not of the candidate.
_OF_THE_MOMENT = ("build_s", "check_s", "timing_s")


def lines(log: TuningLog, where: RecordFilter) -> Iterator[list[str]]:
    """Records and the workloads that they name, page by page, oldest first."""
    told: set[str] = set()
    after = 0
    while page := log.records(where, after, PAGE):
        after = page[-1].sequence
        found: list[str] = []
        for record in page:
            if record.workload not in told:
                told.add(record.workload)
                found.append(workload_line(log.workload(record.workload)))
            found.append(record_line(record))
        yield found


def canonical_lines(log: TuningLog, job: str) -> Iterator[list[str]]:
    """The trials of one job, page by page, in the order in which it asked for them.

    Two runs with one seed on a simulated device tell the same, byte for byte: names that are made
    up anew, moments, and seconds that the process took are left out.
    """
    skip = 0
    while page := log.issued(job, skip, PAGE):
        skip += len(page)
        yield [_trial_line(record) for record in page]


def workload_line(workload: LoggedWorkload) -> str:
    """One line, without its end."""
    return _line("workload", asdict(workload))


def record_line(record: Record) -> str:
    """One line, without its end."""
    # Not by asdict, which copies all that lies in a record at the cost of the rest of an export.
    data = {name: getattr(record, name) for name in _RECORD}
    return _line("record", {**data, "measurement": record.measurement.to_json()})


def _trial_line(record: Record) -> str:
    measurement = record.measurement.to_json()
    for name in _OF_THE_MOMENT:
        del measurement[name]
    return _line("trial", {
        "number": record.number, "purpose": record.purpose, "workload": record.workload,
        "target": record.target, "fingerprint": record.fingerprint, "steps": record.steps,
        "measurement": measurement,
    })  # fmt: skip


def _line(kind: str, data: dict[str, Any]) -> str:
    return json.dumps({"v": VERSION, "kind": kind, **data}, separators=(",", ":"), sort_keys=True)


def read_line(line: bytes) -> LoggedWorkload | Record:
    """What a line tells. Raises LineRefused with what is wrong with it."""
    try:
        data = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise LineRefused(f"not a line of JSON: {error}") from None
    if not isinstance(data, dict):
        raise LineRefused("expected an object")
    version, kind = data.pop("v", None), data.pop("kind", None)
    if version != VERSION:
        raise LineRefused(f"version {version!r}, this version of Tilewright reads {VERSION}")
    if kind not in ("workload", "record"):
        raise LineRefused(f"kind {kind!r}, expected workload or record")
    try:
        return _workload(data) if kind == "workload" else _record(data)
    except KeyError as error:
        raise LineRefused(f"{kind} without {error}") from None
    except (AttributeError, OverflowError, TypeError, ValueError) as error:
        raise LineRefused(f"{kind}: {error}") from None


def _workload(data: dict[str, Any]) -> LoggedWorkload:
    found = LoggedWorkload(**data)
    _name("hash", found.hash)
    names = {_name("names", key): _name("names", value) for key, value in found.names.items()}
    for size in found.sizes.values():
        if not isinstance(size, int | str):
            raise ValueError(f"size {size!r}, expected a number or a word")
    if not isinstance(found.text, str) or not isinstance(found.op, str | None):
        raise ValueError("text and op are strings")
    return replace(found, names=names, sizes=dict(found.sizes))


def _record(data: dict[str, Any]) -> Record:
    measurement = Measurement.from_json(data["measurement"])
    measurement.require_sound()
    found = Record(**{
        **data, "purpose": Purpose(data["purpose"]), "measurement": measurement, "sequence": 0,
    })  # fmt: skip
    for field in ("id", "workload", "target", "fingerprint"):
        _name(field, getattr(found, field))
    for field, value in (
        ("job", found.job), ("worker", found.worker),
        ("generator", measurement.generator), ("compiler", measurement.compiler),
    ):  # fmt: skip
        if value:
            _name(field, value)
    if not isinstance(found.steps.get("steps"), list):
        raise ValueError("steps: expected the JSON form of a schedule")
    if not isinstance(found.number, int) or not 0 <= found.number < 2**31:
        raise ValueError(f"number {found.number!r}, expected a position")
    if datetime.fromisoformat(found.created_at).tzinfo is None:
        raise ValueError(f"created_at {found.created_at!r} has no time zone")
    return found


def _name(field: str, value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME or not value.isprintable():
        raise ValueError(f"{field}: expected 1 to {MAX_NAME} printable characters")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
