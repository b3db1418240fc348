"""Opening a database: it is there, it has this version's schema, nobody else has this role."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import make_url

from db.engine import Database
from db.locks import Role, RoleLock
from db.migrate import require_current
from tuner.errors import LogError


def open(url: str, role: Role | None = None) -> Database:
    """The database at `url`, held for `role` until it is closed; no role holds nothing.

    Raises LogError where it is missing or of another version, Conflict where the role is taken.
    """
    path = Path(make_url(url).database or "")
    if not path.is_file():
        raise LogError(f"{url}: no such database; make it with db.migrate")
    lock = RoleLock(path, role) if role else None
    database = Database(url, lock)
    try:
        require_current(database.engine)
    except LogError:
        database.close()
        raise
    return database
