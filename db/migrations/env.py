"""Run by Alembic: migrates over the connection that db.migrate hands in."""

from __future__ import annotations

from alembic import context

from db.schema import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    # SQLite cannot alter most things: Alembic then makes the table anew and copies.
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
