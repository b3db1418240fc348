"""What is measured and how it is kept: candidates, measurements, records. Plain data.

Times are seconds, sizes bytes. `steps` are a schedule's JSON form (tuner.schedule.steps).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    """How a candidate ended. Everything but OK is a fact about the candidate, not an exception."""

    OK = "ok"
    #: a step of the schedule is illegal, or the generator cannot say it
    REFUSED = "refused"
    COMPILE_ERROR = "compile_error"
    #: a signal other than the two below
    CRASH = "crash"
    ILLEGAL_INSTRUCTION = "illegal_instruction"
    TIMEOUT = "timeout"
    NO_MEMORY = "no_memory"
    WRONG_RESULT = "wrong_result"
    #: a zero, negative or non-finite time
    TIMING_ERROR = "timing_error"
    #: its workers were lost with it, more often than allowed
    WORKER_LOST = "worker_lost"
    CANCELLED = "cancelled"


class Purpose(StrEnum):
    """Why a trial was run; only SEARCH counts against the budget."""

    SEARCH = "search"
    PLAYOFF = "playoff"
    CONFIRM = "confirm"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How to time: stated in the task, repeated in the measurement."""

    min_samples: int = 3
    max_samples: int = 1000
    #: total timed seconds to reach
    min_total_s: float = 0.020
    #: calls are grouped until one sample takes this long
    min_sample_s: float = 0.0005
    #: a candidate whose fastest sample is this many times the incumbent's stops at min_samples
    slow_factor: float = 3.0
    #: the best median known, seconds; None where there is none
    incumbent_s: float | None = None
    #: wall-clock limit of the whole candidate once built
    limit_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One candidate's outcome on one machine."""

    outcome: Outcome
    #: reason, for people; empty when OK
    detail: str = ""
    #: seconds per call of each sample, in order
    samples_s: tuple[float, ...] = ()
    calls_per_sample: int = 0
    median_s: float | None = None
    build_s: float = 0.0
    check_s: float = 0.0
    timing_s: float = 0.0
    source_sha256: str = ""
    generator: str = ""
    compiler: str = ""
    flags: str = ""
    #: largest |error| / allowed error over all outputs and both data sets; 0 is exact
    error_ratio: float | None = None
    cache_mode: str = "warm"
    timing: Timing = field(default_factory=Timing)
    #: of one preparation of what depends on constants alone, which no sample contains, and the
    #: bytes that it fills; None and 0 where there is none
    prepare_s: float | None = None
    prepared_bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        """A JSON-able dict; `from_json` is its inverse. Forms without a preparation do not name it:
        versions that know of none read them."""
        data = {**_fields(self), "timing": _fields(self.timing)}
        if not self.prepared_bytes:
            del data["prepare_s"], data["prepared_bytes"]
        return data

    def require_sound(self) -> None:
        """Raises ValueError where an ok has no honest time: a zero would win every search."""
        times = [*self.samples_s]
        if self.median_s is not None:
            times.append(self.median_s)
        if not all(math.isfinite(t) and t > 0 for t in times):
            raise ValueError("samples_s and median_s must be positive and finite")
        if not 0 <= (self.prepare_s or 0) < math.inf or self.prepared_bytes < 0:
            raise ValueError("prepare_s and prepared_bytes must be finite and not negative")
        if self.outcome == Outcome.OK and (self.median_s is None or not self.samples_s):
            raise ValueError("an ok needs samples_s and median_s")

    @staticmethod
    def from_json(data: dict[str, Any]) -> Measurement:
        """Raises KeyError, TypeError or ValueError on another form."""
        data = dict(data)
        data["outcome"] = Outcome(data["outcome"])
        data["samples_s"] = tuple(float(s) for s in data.get("samples_s", ()))
        data["timing"] = Timing(**data.get("timing", {}))
        return Measurement(**data)


def _fields(of: Measurement | Timing) -> dict[str, Any]:
    """Field by field; `asdict` would copy what lies in them, at ten times the cost."""
    return {field.name: getattr(of, field.name) for field in fields(of)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A schedule chosen to be measured."""

    id: str
    workload: str
    target: str
    steps: dict[str, Any]
    purpose: Purpose = Purpose.SEARCH
    timing: Timing = field(default_factory=Timing)
    #: position in the order in which its job asked for candidates, from 1; given on submission
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A trial in the tuning log. `id` is the candidate's: a trial is recorded once."""

    id: str
    workload: str
    target: str
    #: names one concrete machine: times compare only within one
    fingerprint: str
    steps: dict[str, Any]
    purpose: Purpose
    measurement: Measurement
    job: str | None = None
    worker: str | None = None
    #: the candidate's
    number: int = 0
    #: position in the log, given by it
    sequence: int = 0
    #: ISO 8601, UTC, given by the log
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class Setup:
    """What makes times: a machine, and what generates and compiles the code that runs on it.
    Records compare only within one."""

    fingerprint: str
    #: version of the generator
    generator: str
    compiler: str

    @staticmethod
    def of(record: Record) -> Setup:
        """The setup that `record` is of."""
        measured = record.measurement
        return Setup(record.fingerprint, measured.generator, measured.compiler)

    def made(self, record: Record) -> bool:
        """Is `record` of this setup? One that names no compiler met none."""
        found = Setup.of(record)
        return found in (self, Setup(self.fingerprint, self.generator, ""))


@dataclass(frozen=True, slots=True)
class Timed:
    """A search trial that passed, at a glance: its record is `id` and has the rest."""

    id: str
    sequence: int
    workload: str
    setup: Setup
    #: the median
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """A machine's own limits, measured beside the candidates."""

    #: multiply-adds counted as two, per second, f32, with the target's threads
    flops_per_s: float
    #: bytes read + bytes written per second
    copy_bytes_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BestSchedule:
    """What is served: the play-off's winner of one workload on one target and machine."""

    id: str
    workload: str
    target: str
    fingerprint: str
    steps: dict[str, Any]
    record: str
    median_s: float
    #: 95% interval of the median; None where there are fewer than 6 samples
    ci_s: tuple[float, float] | None
    source_sha256: str
    gflops: float
    gbytes_per_s: float
    peak_share: float | None
    verified: bool
    #: ids of leaders whose interval overlaps this one's
    ties: tuple[str, ...] = ()
    #: as measured: what depends on constants alone is made once, ahead of all calls
    prepare_s: float | None = None
    prepared_bytes: int = 0
