"""Bringing a database to the schema of this version, and telling whether it has it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, make_url

from db.engine import make_engine
from tuner.errors import LogError

_SCRIPTS = Path(__file__).parent / "migrations"
#: Alembic's own table.
_VERSIONS = "alembic_version"


def migrate(url: str) -> None:
    """Makes the database if it is not there and brings its schema to this version's."""
    parsed = make_url(url)
    engine = make_engine(parsed)
    path = Path(parsed.database or "")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Programs and measurements are their owner's business; -wal and -shm files take this mode too.
    path.touch(mode=0o600)
    try:
        with engine.begin() as connection:
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    finally:
        engine.dispose()


def require_current(engine: Engine) -> None:
    """Raises LogError unless the database has this version's schema."""
    found = None
    with engine.connect() as connection:
        if inspect(connection).has_table(_VERSIONS):
            found = connection.exec_driver_sql(f"SELECT version_num FROM {_VERSIONS}").scalar()
    if found != _head():
        raise LogError(
            f"{engine.url}: the schema has revision {found or 'none'}, this version needs "
            f"{_head()}; db.migrate brings an older one up, a newer one needs a newer Tilewright"
        )


@cache
def _head() -> str | None:
    return ScriptDirectory.from_config(_config()).get_current_head()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    return config
