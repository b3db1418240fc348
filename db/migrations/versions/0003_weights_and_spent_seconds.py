"""Workloads of a job have weights, jobs know what they spent, leases when they began and ended"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("spent", sa.JSON(), server_default="{}", nullable=False))
    op.add_column(
        "job_workloads", sa.Column("weight", sa.Double(), server_default="1.0", nullable=False)
    )
    for name in ("granted_at", "ended_at"):
        op.add_column("leases", sa.Column(name, sa.Double(), nullable=True))
