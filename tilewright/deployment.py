"""A data directory: its database, its tokens, and the settings of the roles that use it.

DIR/tilewright.db    the database, unless another one is named
DIR/admin.token      a token that may do everything   (mode 0600)
DIR/worker.token     a token for workers alone        (mode 0600)
DIR/url              where the server answers, while `tilewright up` runs
DIR/logs/ROLE.log    what the roles of `tilewright up` print
"""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

import db
from db import opening, tokens
from db.tokens import TokenRole
from tilewright.connection import TOKEN_FILE
from tuner.errors import TilewrightError

WORKER_TOKEN_FILE = "worker.token"
LOGS = "logs"


class DeploymentError(TilewrightError):
    """A data directory that cannot be used."""


def database_url(data: Path) -> str:
    """The URL of a data directory's database."""
    return f"sqlite:///{database_path(data)}"


def checked_url(named: str | None, data: Path) -> str:
    """The URL of the database that was named, or of the one in `data`."""
    url = named or database_url(data)
    try:
        known = make_url(url).get_backend_name() in ("sqlite", "postgresql")
    except ArgumentError:
        known = False
    if not known:
        # What is wrong is not repeated: it may hold a password.
        raise DeploymentError(
            "the database's URL is not understood: expected postgresql://USER@HOST/NAME or "
            "sqlite:///PATH"
        )
    return url


def prepare(data: Path, worker_token: Path | None = None, database: str | None = None) -> None:
    """Make or migrate the database, in `data` unless another is named, and write the tokens that
    are missing.

    The workers' token goes to `worker_token`, by default into `data`. Raises Conflict where a
    server has an SQLite database open.
    """
    url = checked_url(database, data)
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = opening.hold(make_url(url), db.Role.SERVER)
        try:
            db.migrate(url)
            _ensure_token(url, data / TOKEN_FILE, TokenRole.ADMIN)
            _ensure_token(url, worker_token or data / WORKER_TOKEN_FILE, TokenRole.WORK)
        finally:
            if lock is not None:
                lock.release()
    except OSError as error:
        raise DeploymentError(f"cannot use {error.filename or data}: {error.strerror}") from error


def database_path(data: Path) -> Path:
    """A data directory's database."""
    return data.absolute() / "tilewright.db"


def _ensure_token(url: str, path: Path, role: TokenRole) -> None:
    """Leave a token of `role` that the database knows in `path`."""
    database = db.open(url)
    try:
        with database.write() as session:
            if path.exists() and tokens.find(session, path.read_text("utf-8").strip()):
                return
            _write_secret(path, tokens.create(session, path.stem, role, database.now()))
    finally:
        database.close()


def _write_secret(path: Path, secret: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(secret + "\n")
    partial.replace(path)
