"""The database: an engine with its transaction modes, and how to open one.

On SQLite a writing transaction begins IMMEDIATE, so that it waits for its turn at the start
instead of failing in the middle; WAL lets readers go on meanwhile; synchronous=FULL keeps what
was committed through a power cut.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from sqlite3 import Connection as SqliteConnection
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    PoolProxiedConnection,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.orm import Session

from db.locks import RoleLock

#: How long a transaction waits for another process's, milliseconds.
BUSY_TIMEOUT_MS = 30_000
_READ = "tilewright_read"


class Database:
    """Transactions on one database. Safe to share between threads."""

    def __init__(self, url: str | URL, lock: RoleLock | None = None) -> None:
        self.engine = make_engine(make_url(url))
        self._lock = lock
        self._reader = self.engine.execution_options(**{_READ: True})
        self._watch: PoolProxiedConnection | None = None
        self._watch_lock = threading.Lock()

    @contextmanager
    def write(self) -> Iterator[Session]:
        """One writing transaction: committed at the end, rolled back on an exception."""
        with Session(self.engine, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def read(self) -> Iterator[Session]:
        """One reading transaction, which sees one state of the database."""
        with Session(self._reader, expire_on_commit=False) as session:
            yield session

    def change_mark(self) -> int:
        """A number that is another one after somebody, in whatever process, has committed."""
        with self._watch_lock:
            if self._watch is None:
                self._watch = self.engine.raw_connection()
            cursor = self._watch.cursor()
            cursor.execute("PRAGMA data_version")
            row = cursor.fetchone()
            cursor.close()
        assert row is not None
        return int(row[0])

    def close(self) -> None:
        """Gives every connection and the lock back."""
        with self._watch_lock:
            if self._watch is not None:
                self._watch.close()
                self._watch = None
        self.engine.dispose()
        if self._lock is not None:
            self._lock.release()


def make_engine(url: URL) -> Engine:
    """An engine for `url`. Raises ValueError for a dialect other than SQLite, or one in memory."""
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        raise ValueError(f"database URL {url}: expected sqlite:///PATH of a file")
    engine = create_engine(url, pool_size=10, max_overflow=40)
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)
    return engine


def _configure(connection: SqliteConnection, _record: Any) -> None:
    # The driver would begin transactions by itself, and DEFERRED ones; _begin does it instead.
    connection.isolation_level = None
    for pragma in (
        f"busy_timeout={BUSY_TIMEOUT_MS}",
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    reading = connection.get_execution_options().get(_READ, False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
