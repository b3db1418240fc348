"""The tables. Moments are seconds since 1970 in UTC, spans are seconds, sizes are bytes.

    tokens ─┬─ jobs ─┬─ job_workloads ── workloads ── records, schedules ── sources
            │        ├─ candidates ── leases ── workers
            │        └─ events
            └─ idempotency                                       models

A candidate and its record share their id. Every change to this file needs a migration.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    ForeignKey,
    Index,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.orm import Mapped, mapped_column

from db.base import Base


class WorkloadRow(Base):
    """A canonical program; see tuner.log.LoggedWorkload."""

    __tablename__ = "workloads"

    hash: Mapped[str] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(Text)
    names: Mapped[dict[str, Any]]
    op: Mapped[str | None]
    sizes: Mapped[dict[str, Any]]
    flops: Mapped[int] = mapped_column(BigInteger)
    io_bytes: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[float]


class RecordRow(Base):
    """A trial; see tuner.record.Record. The columns beside `measurement` are there to be asked."""

    __tablename__ = "records"
    __table_args__ = (
        Index(None, "workload", "target", "fingerprint", "purpose"),
        Index(None, "job", "sequence"),
        Index(None, "job", "number"),
        {"sqlite_autoincrement": True},
    )

    sequence: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(unique=True)
    workload: Mapped[str] = mapped_column(ForeignKey("workloads.hash"))
    target: Mapped[str]
    fingerprint: Mapped[str]
    steps: Mapped[dict[str, Any]]
    #: tuner.log.steps_key(steps)
    steps_key: Mapped[str]
    purpose: Mapped[str]
    outcome: Mapped[str]
    measurement: Mapped[dict[str, Any]]
    job: Mapped[str | None]
    worker: Mapped[str | None]
    created_at: Mapped[float]
    #: the candidate's position
    number: Mapped[int] = mapped_column(server_default="0")
    generator: Mapped[str] = mapped_column(server_default="")
    compiler: Mapped[str] = mapped_column(server_default="")


class ScheduleRow(Base):
    """A best schedule; `body` is the whole tuner.record.BestSchedule."""

    __tablename__ = "schedules"
    __table_args__ = (Index(None, "workload", "target"), {"sqlite_autoincrement": True})

    #: grows with every set: the highest tells which machine was set last
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(unique=True)
    workload: Mapped[str] = mapped_column(ForeignKey("workloads.hash"))
    target: Mapped[str]
    fingerprint: Mapped[str]
    median_s: Mapped[float]
    body: Mapped[dict[str, Any]]


class SourceRow(Base):
    __tablename__ = "sources"

    sha256: Mapped[str] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(Text)


class ModelRow(Base):
    """A cost model; see tuner.log.SavedModel."""

    __tablename__ = "models"

    target: Mapped[str] = mapped_column(primary_key=True)
    data: Mapped[bytes]
    features: Mapped[str]
    extent: Mapped[int]


class TokenRow(Base):
    __tablename__ = "tokens"

    id: Mapped[str] = mapped_column(primary_key=True)
    #: of the token; the token itself is never kept
    sha256: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    role: Mapped[str]
    created_at: Mapped[float]


class JobRow(Base):
    __tablename__ = "jobs"
    __table_args__ = (Index(None, "state"), {"sqlite_autoincrement": True})

    #: order of submission
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(unique=True)
    owner: Mapped[str] = mapped_column(ForeignKey("tokens.id"))
    state: Mapped[str]
    reason: Mapped[str] = mapped_column(Text, default="")
    #: None until a machine is there from which to conclude it
    target: Mapped[str | None]
    strategy: Mapped[str]
    seed: Mapped[int] = mapped_column(BigInteger)
    priority: Mapped[int]
    budget_trials: Mapped[int]
    budget_s: Mapped[float]
    #: a job that does not run by then expires
    deadline_at: Mapped[float]
    created_at: Mapped[float]
    started_at: Mapped[float | None]
    ended_at: Mapped[float | None]
    cancel: Mapped[bool] = mapped_column(default=False)
    #: search trials handed to the queue; those with an outcome; those of them that are not ok
    issued: Mapped[int] = mapped_column(default=0)
    done: Mapped[int] = mapped_column(default=0)
    failed: Mapped[int] = mapped_column(default=0)
    #: the machine that measures this job
    fingerprint: Mapped[str | None]
    #: tuner.record.Peaks of that machine
    peaks: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    #: seconds by account, see tuner.tune.accounts
    spent: Mapped[dict[str, Any]] = mapped_column(default=dict, server_default="{}")
    last_event: Mapped[int] = mapped_column(default=0)
    #: the tuner that runs it, the number of its lease, and until when
    tuner: Mapped[str | None]
    fence: Mapped[int] = mapped_column(default=0)
    leased_until: Mapped[float] = mapped_column(default=0.0)
    #: what builds its candidates on that machine; None until it is leased
    compiler: Mapped[str | None]
    #: search on also for workloads that were tuned before
    more: Mapped[bool] = mapped_column(server_default=false())


class JobWorkloadRow(Base):
    __tablename__ = "job_workloads"

    job: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    workload: Mapped[str] = mapped_column(ForeignKey("workloads.hash"))
    name: Mapped[str]
    op: Mapped[str | None]
    sizes: Mapped[dict[str, Any]]
    state: Mapped[str]
    reason: Mapped[str] = mapped_column(Text, default="")
    done: Mapped[int] = mapped_column(default=0)
    failed: Mapped[int] = mapped_column(default=0)
    #: outcome -> how often
    failures: Mapped[dict[str, Any]] = mapped_column(default=dict)
    #: id of its best schedule
    best: Mapped[str | None]
    #: how often it occurs in what is to become fast
    weight: Mapped[float] = mapped_column(server_default="1.0")


class CandidateRow(Base):
    """A candidate on its way; its states are db.states.CandidateState."""

    __tablename__ = "candidates"
    __table_args__ = (
        Index(None, "state", "target"),
        Index(None, "job", "state"),
        Index(None, "lease"),
        {"sqlite_autoincrement": True},
    )

    #: order of submission
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(unique=True)
    job: Mapped[str] = mapped_column(ForeignKey("jobs.id"))
    workload: Mapped[str] = mapped_column(ForeignKey("workloads.hash"))
    target: Mapped[str]
    #: the machine that has to measure it
    fingerprint: Mapped[str]
    steps: Mapped[dict[str, Any]]
    purpose: Mapped[str]
    timing: Mapped[dict[str, Any]]
    state: Mapped[str]
    #: the last lease under which it was handed out
    lease: Mapped[str | None] = mapped_column(ForeignKey("leases.id"))
    #: leases that ended without its result
    losses: Mapped[int] = mapped_column(default=0)
    #: in the order in which its job asked for candidates, from 1
    position: Mapped[int] = mapped_column(server_default="0")


class LeaseRow(Base):
    """A grant of candidates to a worker, all of one workload, target and purpose."""

    __tablename__ = "leases"
    __table_args__ = (
        UniqueConstraint("worker", "claim"),
        Index(None, "state", "expires_at"),
        {"sqlite_autoincrement": True},
    )

    #: the fencing number: grows with every grant
    fence: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(unique=True)
    worker: Mapped[str] = mapped_column(ForeignKey("workers.id"))
    #: id of the claim that asked for it, chosen by the worker
    claim: Mapped[str]
    job: Mapped[str] = mapped_column(ForeignKey("jobs.id"))
    #: a db.states.LeaseState
    state: Mapped[str]
    expires_at: Mapped[float]
    #: None only in leases that are older than this column
    granted_at: Mapped[float | None]
    #: when it was answered or lost
    ended_at: Mapped[float | None]


class WorkerRow(Base):
    __tablename__ = "workers"
    __table_args__ = (UniqueConstraint("name", "fingerprint"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    fingerprint: Mapped[str]
    facts: Mapped[dict[str, Any]]
    #: best first
    targets: Mapped[list[str]]
    generator: Mapped[str]
    compiler: Mapped[str]
    version: Mapped[str]
    enrolled_at: Mapped[float]
    seen_at: Mapped[float]


class EventRow(Base):
    """Something that happened to a job, numbered from 1 in the transaction that did it."""

    __tablename__ = "events"

    job: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[str]
    data: Mapped[dict[str, Any]]
    created_at: Mapped[float]


class IdempotencyRow(Base):
    """The answer to a request that carried an idempotency key."""

    __tablename__ = "idempotency"

    token: Mapped[str] = mapped_column(ForeignKey("tokens.id"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    #: sha256 of what was asked
    request: Mapped[str]
    #: what was answered
    answer: Mapped[dict[str, Any]]
    created_at: Mapped[float]
