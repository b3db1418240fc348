"""The first tables"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    _models()
    _sources()
    _tokens()
    _workers()
    _workloads()
    _idempotency()
    _jobs()
    _records()
    _schedules()
    _events()
    _job_workloads()
    _leases()
    _candidates()


def _models() -> None:
    op.create_table(
        "models",
        sa.Column("target", sa.String(length=255), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("features", sa.String(length=255), nullable=False),
        sa.Column("extent", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("target", name=op.f("pk_models")),
    )


def _sources() -> None:
    op.create_table(
        "sources",
        sa.Column("sha256", sa.String(length=255), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_sources")),
    )


def _tokens() -> None:
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=255), nullable=False),
        sa.Column("sha256", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("role", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("sha256", name=op.f("uq_tokens_sha256")),
    )


def _workers() -> None:
    op.create_table(
        "workers",
        sa.Column("id", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("fingerprint", sa.String(length=255), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("targets", sa.JSON(), nullable=False),
        sa.Column("generator", sa.String(length=255), nullable=False),
        sa.Column("compiler", sa.String(length=255), nullable=False),
        sa.Column("version", sa.String(length=255), nullable=False),
        sa.Column("enrolled_at", sa.Double(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
        sa.UniqueConstraint("name", "fingerprint", name=op.f("uq_workers_name_fingerprint")),
    )


def _workloads() -> None:
    op.create_table(
        "workloads",
        sa.Column("hash", sa.String(length=255), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("names", sa.JSON(), nullable=False),
        sa.Column("op", sa.String(length=255), nullable=True),
        sa.Column("sizes", sa.JSON(), nullable=False),
        sa.Column("flops", sa.BigInteger(), nullable=False),
        sa.Column("io_bytes", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_workloads")),
    )


def _idempotency() -> None:
    op.create_table(
        "idempotency",
        sa.Column("token", sa.String(length=255), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("request", sa.String(length=255), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["token"], ["tokens.id"], name=op.f("fk_idempotency_token")),
        sa.PrimaryKeyConstraint("token", "key", name=op.f("pk_idempotency")),
    )


def _jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("number", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=255), nullable=False),
        sa.Column("owner", sa.String(length=255), nullable=False),
        sa.Column("state", sa.String(length=255), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("target", sa.String(length=255), nullable=True),
        sa.Column("strategy", sa.String(length=255), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("budget_trials", sa.Integer(), nullable=False),
        sa.Column("budget_s", sa.Double(), nullable=False),
        sa.Column("deadline_at", sa.Double(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=True),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.Column("cancel", sa.Boolean(), nullable=False),
        sa.Column("issued", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.String(length=255), nullable=True),
        sa.Column("peaks", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("last_event", sa.Integer(), nullable=False),
        sa.Column("tuner", sa.String(length=255), nullable=True),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("leased_until", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["owner"], ["tokens.id"], name=op.f("fk_jobs_owner")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_jobs")),
        sa.UniqueConstraint("id", name=op.f("uq_jobs_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_jobs_state"), "jobs", ["state"], unique=False)


def _records() -> None:
    op.create_table(
        "records",
        sa.Column("sequence", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=255), nullable=False),
        sa.Column("workload", sa.String(length=255), nullable=False),
        sa.Column("target", sa.String(length=255), nullable=False),
        sa.Column("fingerprint", sa.String(length=255), nullable=False),
        sa.Column("steps", sa.JSON(), nullable=False),
        sa.Column("steps_key", sa.String(length=255), nullable=False),
        sa.Column("purpose", sa.String(length=255), nullable=False),
        sa.Column("outcome", sa.String(length=255), nullable=False),
        sa.Column("measurement", sa.JSON(), nullable=False),
        sa.Column("job", sa.String(length=255), nullable=True),
        sa.Column("worker", sa.String(length=255), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["workload"], ["workloads.hash"], name=op.f("fk_records_workload")),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_records")),
        sa.UniqueConstraint("id", name=op.f("uq_records_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_records_job_sequence"), "records", ["job", "sequence"], unique=False)
    op.create_index(
        op.f("ix_records_workload_target_fingerprint_purpose"),
        "records",
        ["workload", "target", "fingerprint", "purpose"],
        unique=False,
    )


def _schedules() -> None:
    op.create_table(
        "schedules",
        sa.Column("position", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=255), nullable=False),
        sa.Column("workload", sa.String(length=255), nullable=False),
        sa.Column("target", sa.String(length=255), nullable=False),
        sa.Column("fingerprint", sa.String(length=255), nullable=False),
        sa.Column("median_s", sa.Double(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workload"], ["workloads.hash"], name=op.f("fk_schedules_workload")
        ),
        sa.PrimaryKeyConstraint("position", name=op.f("pk_schedules")),
        sa.UniqueConstraint("id", name=op.f("uq_schedules_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_schedules_workload_target"), "schedules", ["workload", "target"], unique=False
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("job", sa.String(length=255), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=255), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name=op.f("fk_events_job")),
        sa.PrimaryKeyConstraint("job", "number", name=op.f("pk_events")),
    )


def _job_workloads() -> None:
    op.create_table(
        "job_workloads",
        sa.Column("job", sa.String(length=255), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("workload", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("op", sa.String(length=255), nullable=True),
        sa.Column("sizes", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=255), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("failures", sa.JSON(), nullable=False),
        sa.Column("best", sa.String(length=255), nullable=True),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name=op.f("fk_job_workloads_job")),
        sa.ForeignKeyConstraint(
            ["workload"], ["workloads.hash"], name=op.f("fk_job_workloads_workload")
        ),
        sa.PrimaryKeyConstraint("job", "position", name=op.f("pk_job_workloads")),
    )


def _leases() -> None:
    op.create_table(
        "leases",
        sa.Column("fence", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=255), nullable=False),
        sa.Column("worker", sa.String(length=255), nullable=False),
        sa.Column("claim", sa.String(length=255), nullable=False),
        sa.Column("job", sa.String(length=255), nullable=False),
        sa.Column("state", sa.String(length=255), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name=op.f("fk_leases_job")),
        sa.ForeignKeyConstraint(["worker"], ["workers.id"], name=op.f("fk_leases_worker")),
        sa.PrimaryKeyConstraint("fence", name=op.f("pk_leases")),
        sa.UniqueConstraint("id", name=op.f("uq_leases_id")),
        sa.UniqueConstraint("worker", "claim", name=op.f("uq_leases_worker_claim")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_leases_state_expires_at"), "leases", ["state", "expires_at"], unique=False
    )


def _candidates() -> None:
    op.create_table(
        "candidates",
        sa.Column("number", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=255), nullable=False),
        sa.Column("job", sa.String(length=255), nullable=False),
        sa.Column("workload", sa.String(length=255), nullable=False),
        sa.Column("target", sa.String(length=255), nullable=False),
        sa.Column("fingerprint", sa.String(length=255), nullable=False),
        sa.Column("steps", sa.JSON(), nullable=False),
        sa.Column("purpose", sa.String(length=255), nullable=False),
        sa.Column("timing", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=255), nullable=False),
        sa.Column("lease", sa.String(length=255), nullable=True),
        sa.Column("losses", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name=op.f("fk_candidates_job")),
        sa.ForeignKeyConstraint(["lease"], ["leases.id"], name=op.f("fk_candidates_lease")),
        sa.ForeignKeyConstraint(
            ["workload"], ["workloads.hash"], name=op.f("fk_candidates_workload")
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_candidates")),
        sa.UniqueConstraint("id", name=op.f("uq_candidates_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_candidates_job_state"), "candidates", ["job", "state"], unique=False)
    op.create_index(op.f("ix_candidates_lease"), "candidates", ["lease"], unique=False)
    op.create_index(
        op.f("ix_candidates_state_target"), "candidates", ["state", "target"], unique=False
    )
