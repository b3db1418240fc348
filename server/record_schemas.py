"""The bodies of what is asked of the tuning log. Times are seconds, moments ISO 8601 in UTC."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class RecordOut(BaseModel):
    """A trial in the tuning log."""

    id: str
    workload: str
    target: str
    fingerprint: str
    steps: dict[str, Any]
    purpose: str
    measurement: dict[str, Any]
    job: str | None
    worker: str | None
    number: int = Field(description="position in the order in which the job asked; 0 if unknown")
    sequence: int
    created_at: str


class RecordPage(BaseModel):
    items: list[RecordOut]
    next: str | None


class RefusedLineOut(BaseModel):
    """A line that was left out."""

    line: int = Field(description="counted from 1")
    reason: str


class ImportOut(BaseModel):
    """What came of an import: what was new, what the log had already, what was left out."""

    lines: int
    workloads_added: int
    workloads_known: int
    records_added: int
    records_known: int
    lines_refused: int
    refused: list[RefusedLineOut] = Field(description="the first 1000 of them")
