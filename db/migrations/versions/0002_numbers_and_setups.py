"""Records know number, generator and compiler; jobs their compiler, and whether to go on"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

#: Candidates were inserted in the order in which their jobs asked for them.
_NUMBER_CANDIDATES = """
    UPDATE candidates SET position = asked.place
    FROM (
        SELECT id, row_number() OVER (PARTITION BY job ORDER BY number) AS place
        FROM candidates
    ) AS asked
    WHERE candidates.id = asked.id
"""
_NUMBER_RECORDS = """
    UPDATE records SET number = candidates.position FROM candidates
    WHERE candidates.id = records.id
"""


def upgrade() -> None:
    op.add_column(
        "candidates", sa.Column("position", sa.Integer(), server_default="0", nullable=False)
    )
    op.add_column("records", sa.Column("number", sa.Integer(), server_default="0", nullable=False))
    for name in ("generator", "compiler"):
        column = sa.Column(name, sa.String(length=255), server_default="", nullable=False)
        op.add_column("records", column)
    op.create_index(op.f("ix_records_job_number"), "records", ["job", "number"], unique=False)
    op.add_column("jobs", sa.Column("compiler", sa.String(length=255), nullable=True))
    op.add_column(
        "jobs", sa.Column("more", sa.Boolean(), server_default=sa.false(), nullable=False)
    )
    op.execute(_NUMBER_CANDIDATES)
    op.execute(_NUMBER_RECORDS)
    _read_measurements()


def _read_measurements() -> None:
    """Takes generator and compiler out of the measurements."""
    records = sa.table(
        "records", sa.column("measurement", sa.JSON()),
        sa.column("generator", sa.String()), sa.column("compiler", sa.String()),
    )  # fmt: skip
    found = {
        name: sa.func.coalesce(records.c.measurement[name].as_string(), "")
        for name in ("generator", "compiler")
    }
    op.execute(sa.update(records).values(found))
