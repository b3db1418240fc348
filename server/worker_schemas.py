"""The bodies that workers and the server exchange. Fields that are unknown here are passed over,
so that a worker may be newer than its server."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, field_validator

from tuner.errors import TargetError
from tuner.record import Measurement, Peaks
from tuner.target import target

Name = Annotated[str, Field(min_length=1, max_length=200)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class EnrolIn(BaseModel):
    """What a worker says of itself."""

    name: Name
    fingerprint: Name
    facts: dict[str, Any] = {}
    targets: list[Name] = Field(min_length=1, max_length=64, description="best first")
    generator: Name
    compiler: Name
    version: Name

    @field_validator("targets")
    @classmethod
    def _known(cls, names: list[str]) -> list[str]:
        for name in names:
            try:
                target(name)
            except TargetError as error:
                raise ValueError(str(error)) from None
        return names


class EnrolOut(BaseModel):
    worker_id: str
    lease_s: float
    beat_s: float
    poll_s: float


class ClaimIn(BaseModel):
    worker_id: Name
    claim_id: Name = Field(description="the same claim gets the same grant")
    targets: list[Name] = Field(min_length=1, max_length=64)
    max_items: int = Field(16, ge=1, le=256)


class ItemOut(BaseModel):
    candidate: str
    steps: dict[str, Any]


class GrantOut(BaseModel):
    """Leased candidates, all of one workload, target, purpose and timing."""

    lease_id: str
    fence: int
    lease_s: float
    job: str
    workload: str
    program: str
    target: str
    purpose: str
    timing: dict[str, Any]
    peaks_wanted: bool
    items: list[ItemOut]


class BeatIn(BaseModel):
    worker_id: Name
    leases: list[Name] = Field(max_length=256)


class BeatOut(BaseModel):
    cancel: list[str]
    lost: list[str]
    drain: bool


class ResultIn(BaseModel):
    candidate: Name
    measurement: dict[str, Any]

    @field_validator("measurement")
    @classmethod
    def _readable(cls, data: dict[str, Any]) -> dict[str, Any]:
        try:
            Measurement.from_json(data).require_sound()
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a measurement: {error!r}") from error
        return data

    def read(self) -> Measurement:
        return Measurement.from_json(self.measurement)


class PeaksIn(BaseModel):
    flops_per_s: Positive
    copy_bytes_per_s: Positive

    def read(self) -> Peaks:
        return Peaks(flops_per_s=self.flops_per_s, copy_bytes_per_s=self.copy_bytes_per_s)


class ResultsIn(BaseModel):
    worker_id: Name
    lease_id: Name
    fence: int
    results: list[ResultIn] = Field(max_length=256)
    peaks: PeaksIn | None = None


class ResultsOut(BaseModel):
    accepted: list[str]
    replayed: list[str]
