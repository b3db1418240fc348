"""What is PostgreSQL's own: any number of servers and tuners, on any hosts, write at a time.

A writing transaction is READ COMMITTED and locks the rows that it changes before it reads them,
always in the order worker, jobs by number, leases, candidates, log (see db.turns). A reading one is
REPEATABLE READ and locks nothing. Whoever waits is woken by NOTIFY and does not rely on it: the
change mark tells of every commit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Engine, PoolProxiedConnection, create_engine, event, text
from sqlalchemy.exc import DBAPIError

from db.errors import unavailable
from tuner.errors import LogError

#: What writers notify.
CHANNEL = "tilewright"
#: Seconds without a notification after which the change mark is looked at all the same.
POLL_S = 0.5
#: Seconds after which the database's clock is read anew; a monotonic clock runs in between.
CLOCK_S = 5.0
#: A process that was stopped in the middle of a transaction must not keep its locks from others.
_SESSION = (
    "SET lock_timeout = '30s'",
    "SET idle_in_transaction_session_timeout = '15s'",
)


class Postgres:
    """A db.engine.Backend on a PostgreSQL database."""

    exclusive = False

    def __init__(self, url: URL) -> None:
        # Of the server's 100 connections, so that a few processes have room.
        self.writer = _engine(url, pool_size=10, max_overflow=20, isolation_level="READ COMMITTED")
        event.listen(self.writer, "connect", _configure)
        self.reader = self.writer.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        #: for the watch and the clock, which must not wait for those who wait for them
        self._side = _engine(url, pool_size=2, max_overflow=0, isolation_level="AUTOCOMMIT")
        self._watch: PoolProxiedConnection | None = None
        self._watch_lock = threading.Lock()
        self._clock_lock = threading.Lock()
        #: the database's clock minus the monotonic one, and the latter when both were read
        self._offset, self._read_at = 0.0, float("-inf")

    def change_mark(self) -> str:
        # Which transactions have ended: another text after every commit.
        with self._watching() as connection:
            return str(connection.execute("SELECT pg_current_snapshot()::text").fetchone()[0])

    def pause(self, stop: threading.Event, tick_s: float) -> bool:
        # Not at every one of many notifications, so that all who wait look once for all of them.
        if stop.wait(tick_s):
            return True
        with self._watching() as connection:
            for _ in connection.notifies(timeout=POLL_S, stop_after=1):
                break
        return stop.is_set()

    @contextmanager
    def _watching(self) -> Iterator[Any]:
        """The driver's connection that listens; made anew after it was lost."""
        dialect = self._side.dialect
        with self._watch_lock:
            try:
                if self._watch is None:
                    self._watch = self._side.raw_connection()
                    listening: Any = self._watch.driver_connection
                    listening.execute(f"LISTEN {CHANNEL}")
                yield self._watch.driver_connection
            except dialect.loaded_dbapi.Error as error:
                self._forget_watch()
                raise unavailable(self._side.url, error) from error
            except DBAPIError as error:
                raise unavailable(self._side.url, error) from error

    def _forget_watch(self) -> None:
        if self._watch is not None:
            self._watch.invalidate()
            self._watch = None

    def now(self) -> float:
        with self._clock_lock:
            read_at = time.monotonic()
            if read_at - self._read_at > CLOCK_S:
                self._offset, self._read_at = self._database_clock() - read_at, read_at
            return self._offset + time.monotonic()

    def _database_clock(self) -> float:
        query = text("SELECT extract(epoch FROM clock_timestamp())")
        try:
            with self._side.connect() as connection:
                return float(connection.execute(query).scalar_one())
        except DBAPIError as error:
            raise unavailable(self._side.url, error) from error

    def close(self) -> None:
        with self._watch_lock:
            self._forget_watch()
        self._side.dispose()
        self.writer.dispose()


def _engine(url: URL, **options: Any) -> Engine:
    try:
        return create_engine(
            url.set(drivername="postgresql+psycopg"), pool_pre_ping=True, **options
        )
    except ModuleNotFoundError as error:
        raise LogError(
            f"{error.name} is not installed: pip install 'tilewright[postgres]'"
        ) from error


def _configure(connection: Any, _record: Any) -> None:
    for statement in _SESSION:
        connection.execute(statement)
    connection.commit()
