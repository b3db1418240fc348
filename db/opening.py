"""Opening a database: it is there, it has this version's schema, nobody else has this role."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import URL, make_url

from db.engine import Database
from db.locks import Role, RoleLock
from db.migrate import require_current
from tuner.errors import LogError


def open(url: str, role: Role | None = None) -> Database:
    """The database at `url`, held for `role` until it is closed; no role holds nothing.

    Raises LogError where it is missing or of another version, Conflict where the role is taken.
    """
    parsed = make_url(url)
    path = file_of(parsed)
    if path is not None and not path.is_file():
        raise LogError(f"{parsed}: no such database; make it with db.migrate")
    lock = hold(parsed, role) if role else None
    database = Database(parsed, lock)
    try:
        require_current(database)
    except LogError:
        database.close()
        raise
    return database


def hold(url: URL, role: Role) -> RoleLock | None:
    """The lock of `role`; None on PostgreSQL, where any number of each may work at a time."""
    path = file_of(url)
    return None if path is None else RoleLock(path, role)


def file_of(url: URL) -> Path | None:
    """The file of an SQLite database; None on PostgreSQL."""
    return Path(url.database or "") if url.get_backend_name() == "sqlite" else None
