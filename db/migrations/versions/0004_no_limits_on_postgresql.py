"""PostgreSQL takes strings of any length and whole numbers of 64 bits, as SQLite always did"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_LIMITED = """
    SELECT table_name, column_name, data_type FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name <> 'alembic_version'
        AND data_type IN ('character varying', 'integer')
    ORDER BY table_name, ordinal_position
"""
_NUMBERED = """
    SELECT sequencename FROM pg_sequences WHERE schemaname = current_schema()
"""


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    for table, column, type_ in connection.execute(sa.text(_LIMITED)).all():
        wide = sa.Text() if type_ == "character varying" else sa.BigInteger()
        op.alter_column(table, column, type_=wide)
    for name in connection.scalars(sa.text(_NUMBERED)).all():
        op.execute(f'ALTER SEQUENCE "{name}" AS bigint')
