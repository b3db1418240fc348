"""Bringing a database to the schema of this version, and telling whether it has it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, inspect, make_url
from sqlalchemy.exc import InterfaceError, OperationalError

from db.engine import Database, make_backend
from db.errors import unavailable
from tuner.errors import LogError

_SCRIPTS = Path(__file__).parent / "migrations"
#: Alembic's own table.
_VERSIONS = "alembic_version"


def migrate(url: str, revision: str = "head") -> None:
    """Brings the schema to this version's, or to that of an older `revision`. An SQLite database
    is made if it is not there. Raises DatabaseUnavailable."""
    parsed = make_url(url)
    backend = make_backend(parsed)
    if parsed.get_backend_name() == "sqlite":
        _make_file(parsed)
    try:
        with backend.writer.begin() as connection:
            _one_at_a_time(connection)
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
    except (InterfaceError, OperationalError) as error:
        raise unavailable(parsed, error) from error
    finally:
        backend.close()


def _make_file(url: URL) -> None:
    path = Path(url.database or "")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Programs and measurements are their owner's business; -wal and -shm files take this mode too.
    path.touch(mode=0o600)


def _one_at_a_time(connection: Connection) -> None:
    """On PostgreSQL several servers may start at once: one migrates, the others wait for it."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
        connection.exec_driver_sql(
            "SELECT pg_advisory_xact_lock(hashtextextended('tilewright schema', 0))"
        )


def require_current(database: Database) -> None:
    """Raises LogError unless the database has this version's schema."""
    found = None
    with database.read() as session:
        connection = session.connection()
        if inspect(connection).has_table(_VERSIONS):
            found = connection.exec_driver_sql(f"SELECT version_num FROM {_VERSIONS}").scalar()
    if found != _head():
        raise LogError(
            f"{database.engine.url}: the schema has revision {found or 'none'}, this version needs "
            f"{_head()}; db.migrate brings an older one up, a newer one needs a newer Tilewright"
        )


@cache
def _head() -> str | None:
    return ScriptDirectory.from_config(_config()).get_current_head()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    return config
