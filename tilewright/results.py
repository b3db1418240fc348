"""What the service answers, as frozen dataclasses. Times are seconds, moments are in UTC.

The fields are those of the service's JSON, which `GET /openapi.json` describes; what a newer
service adds is left out.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from tilewright.exchange import Json, ServiceError

_T = TypeVar("_T")
#: States of a job that it never leaves.
ENDED = ("done", "failed", "cancelled", "expired")


@dataclass(frozen=True, slots=True)
class Schedule:
    """A best schedule, verified and timed in a play-off."""

    id: str
    #: hash of the workload
    workload: str
    target: str
    #: the machine it was timed on
    fingerprint: str
    #: {"version": 1, "steps": [{"step": "split", …}, …]}
    steps: Json
    median_s: float
    #: 95% confidence interval of the median
    ci_s: tuple[float, float] | None
    gflops: float
    gbytes_per_s: float
    #: share of the machine's peak, of operations or of bytes, whichever is nearer
    peak_share: float | None
    verified: bool
    #: ids of schedules whose intervals overlap with this one's
    ties: tuple[str, ...]
    source_sha256: str
    #: of making once, ahead of all calls, what depends on constants alone; in no median
    prepare_s: float | None = None
    prepared_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Count:
    """Search trials that ended, and those of them that failed."""

    done: int
    failed: int


@dataclass(frozen=True, slots=True)
class WorkloadStatus:
    """One workload of a job."""

    hash: str
    name: str
    #: the operator it was asked as; None for a program
    op: str | None
    sizes: Json
    #: how often it occurs in what is to become fast
    weight: float
    state: str
    reason: str
    trials: Count
    #: outcome -> how many search trials ended so
    failures: Json
    best: Schedule | None


@dataclass(frozen=True, slots=True)
class Budget:
    """What a job may spend on all its workloads together."""

    trials: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Peaks:
    """What the machine can do at most, measured beside the candidates."""

    flops_per_s: float
    copy_bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Job:
    """A request to tune, and how far it is."""

    id: str
    #: queued, running, done, failed, cancelled or expired
    state: str
    reason: str
    target: str | None
    strategy: str
    seed: int
    priority: int
    more: bool
    budget: Budget
    trials: Count
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    peaks: Peaks | None
    #: seconds by account: search, model, waiting, database; build, check and timing of the workers
    spent: dict[str, float]
    #: share of the job's time in which its workers had nothing of it to do; None until it has ended
    idle_share: float | None
    workloads: tuple[WorkloadStatus, ...]

    @property
    def ended(self) -> bool:
        """Has it come to its end, whatever that is?"""
        return self.state in ENDED


@dataclass(frozen=True, slots=True)
class Best:
    """The best schedules of a workload, fastest first; none if it was never tuned."""

    workload: str
    items: tuple[Schedule, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """The text of a program after one step; of the program as written, where `step` is empty."""

    step: str
    program: str


@dataclass(frozen=True, slots=True)
class Stages:
    """A schedule's program after every step."""

    #: canonical name -> the submitter's
    names: dict[str, str]
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of the catalogue."""

    name: str
    doc: str
    #: default of each size; None where it must be given
    sizes: Json
    dtypes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TargetStatus:
    """A kind of hardware, and how many live workers have it."""

    name: str
    kind: str
    isa: tuple[str, ...]
    vector_bits: int
    threads: int
    #: its times come from a machine model
    simulated: bool
    live_workers: int


@dataclass(frozen=True, slots=True)
class Worker:
    """A machine that measures."""

    id: str
    name: str
    fingerprint: str
    facts: Json
    targets: tuple[str, ...]
    compiler: str
    live: bool
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class Record:
    """A trial in the tuning log."""

    id: str
    sequence: int
    workload: str
    target: str
    fingerprint: str
    steps: Json
    #: search, playoff, confirm or reference
    purpose: str
    #: its "outcome", all samples and what they were measured with
    measurement: Json
    job: str | None
    worker: str | None
    #: position in the order in which its job asked for candidates; 0 if unknown
    number: int
    created_at: datetime


def read(kind: type[_T], data: Any) -> _T:
    """`data`, parsed JSON, as a `kind`. Raises ServiceError where it has another form."""
    try:
        value: _T = _value(kind, data)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ServiceError(
            f"the service's answer is no {kind.__name__} as this version knows it "
            f"({type(error).__name__}: {error}): are both of the same version?"
        ) from error
    return value


def _value(kind: Any, data: Any) -> Any:
    """`data` as a value of the annotation `kind`."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin is types.UnionType:  # X | None
        return None if data is None else _value(inside[0], data)
    if origin is tuple:
        kinds = inside[:1] * len(data) if inside[-1] is Ellipsis else inside
        return tuple(_value(one, item) for one, item in zip(kinds, data, strict=True))
    if origin is dict:
        return dict(data)
    if hasattr(kind, "__dataclass_fields__"):
        return kind(**{name: _value(of, data[name]) for name, of in _hints(kind).items()})
    if kind is datetime:
        return datetime.fromisoformat(data)
    if not isinstance(data, int | float if kind is float else kind):
        raise TypeError(f"{data!r} is no {kind.__name__}")
    return kind(data)


@cache
def _hints(kind: type[Any]) -> Mapping[str, Any]:
    """The fields of a dataclass with their types."""
    return get_type_hints(kind)
