"""The database: its transaction modes, its clock, and how to wait for a change.

What SQLite and PostgreSQL do each in its own way is a Backend.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Protocol

from sqlalchemy import URL, Engine, make_url
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.orm import Session

from db.errors import unavailable
from db.locks import RoleLock
from db.postgres import Postgres
from db.sqlite import Sqlite


class Backend(Protocol):
    """What differs between the databases. Safe to share between threads."""

    #: whether one server and one tuner at most may have it open
    exclusive: bool
    #: begins writing transactions
    writer: Engine

    @property
    def reader(self) -> Engine:
        """Begins reading transactions."""

    def change_mark(self) -> Hashable:
        """See Database.change_mark."""

    def pause(self, stop: threading.Event, tick_s: float) -> bool:
        """See Database.pause."""

    def now(self) -> float:
        """See Database.now."""

    def close(self) -> None:
        """Gives every connection back."""


class Database:
    """Transactions on one database. Safe to share between threads.

    Every call raises DatabaseUnavailable where the database does not answer.
    """

    def __init__(self, url: str | URL, lock: RoleLock | None = None) -> None:
        self._backend = make_backend(make_url(url))
        self._lock = lock
        self.engine = self._backend.writer

    @property
    def exclusive(self) -> bool:
        """Whether one server and one tuner at most may have it open."""
        return self._backend.exclusive

    @contextmanager
    def write(self) -> Iterator[Session]:
        """One writing transaction: committed at the end, rolled back on an exception."""
        writing = Session(self.engine, expire_on_commit=False)
        with self._answering(), writing as session, session.begin():
            yield session

    @contextmanager
    def read(self) -> Iterator[Session]:
        """One reading transaction, which sees one state of the database."""
        reader = self._backend.reader
        with self._answering(), Session(reader, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except (InterfaceError, OperationalError) as error:
            raise unavailable(self.engine.url, error) from error

    def change_mark(self) -> Hashable:
        """A value that is another one after somebody, in whatever process, has committed."""
        return self._backend.change_mark()

    def pause(self, stop: threading.Event, tick_s: float) -> bool:
        """Passes the time until it is worth to look at the change mark again, `tick_s` at least;
        ends early once `stop` is set, and tells whether it is."""
        return self._backend.pause(stop, tick_s)

    def now(self) -> float:
        """The database's clock: seconds since 1970 in UTC."""
        return self._backend.now()

    def close(self) -> None:
        """Gives every connection and the lock back."""
        self._backend.close()
        if self._lock is not None:
            self._lock.release()


def make_backend(url: URL) -> Backend:
    """Raises ValueError for another dialect than SQLite and PostgreSQL, and for SQLite in memory;
    LogError where the driver is missing."""
    if url.get_backend_name() == "sqlite":
        return Sqlite(url)
    if url.get_backend_name() == "postgresql":
        return Postgres(url)
    raise ValueError(f"database URL {url}: expected sqlite:///PATH or postgresql://USER@HOST/NAME")
