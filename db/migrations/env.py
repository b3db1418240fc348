"""Run by Alembic: migrates over the connection that db.migrate hands in."""

from __future__ import annotations

from alembic import context

from db.schema import WorkloadRow

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=WorkloadRow.metadata,
    # SQLite cannot alter most things: Alembic then makes the table anew and copies.
    render_as_batch=True,
    # It can take back the making of a table, whatever Alembic assumes of it.
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
