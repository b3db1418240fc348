"""What is SQLite's own: one host, one server and one tuner, writers in turn.

A writing transaction begins IMMEDIATE, so that it waits for its turn at the start instead of
failing in the middle; WAL lets readers go on meanwhile; synchronous=FULL keeps what was committed
through a power cut.
"""

from __future__ import annotations

import threading
from sqlite3 import Connection as SqliteConnection
from typing import Any

from sqlalchemy import URL, Connection, PoolProxiedConnection, create_engine, event

from db.clock import wall_clock

#: How long a transaction waits for another process's, milliseconds.
BUSY_TIMEOUT_MS = 30_000
_READ = "tilewright_read"


class Sqlite:
    """A db.engine.Backend on the file of `url`. Raises ValueError for a database in memory."""

    exclusive = True

    def __init__(self, url: URL) -> None:
        if url.database in (None, "", ":memory:"):
            raise ValueError(f"database URL {url}: expected sqlite:///PATH of a file")
        self.writer = create_engine(url, pool_size=10, max_overflow=40)
        event.listen(self.writer, "connect", _configure)
        event.listen(self.writer, "begin", _begin)
        self.reader = self.writer.execution_options(**{_READ: True})
        self._watch: PoolProxiedConnection | None = None
        self._watch_lock = threading.Lock()

    def change_mark(self) -> int:
        with self._watch_lock:
            if self._watch is None:
                self._watch = self.writer.raw_connection()
            cursor = self._watch.cursor()
            cursor.execute("PRAGMA data_version")
            row = cursor.fetchone()
            cursor.close()
        assert row is not None
        return int(row[0])

    def pause(self, stop: threading.Event, tick_s: float) -> bool:
        return stop.wait(tick_s)

    def now(self) -> float:
        # SQLite has no clock but this machine's, on which its only server and tuner run.
        return wall_clock()

    def close(self) -> None:
        with self._watch_lock:
            if self._watch is not None:
                self._watch.close()
                self._watch = None
        self.writer.dispose()


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
