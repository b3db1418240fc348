"""A lock file per role: on SQLite exactly one server and one tuner open a database.

The kernel holds the lock, not the file: it is free again the moment its process dies.
"""

from __future__ import annotations

import fcntl
import os
import time
from enum import StrEnum
from pathlib import Path
from typing import IO

from tuner.errors import Conflict


class Role(StrEnum):
    """Who opens a database for as long as it runs."""

    SERVER = "server"
    TUNER = "tuner"


#: Seconds for which a lock may be another's before it counts as held: a health check takes and
#: frees it at once, and a process that was just killed may take a moment to end.
PATIENCE_S = 2.0
#: Seconds between two tries.
POLL_S = 0.02


class RoleLock:
    """Holds `PATH.ROLE.lock` until `release`. Raises Conflict if another process keeps it."""

    def __init__(self, database: Path, role: Role) -> None:
        path = database.with_name(f"{database.name}.{role}.lock")
        self._file: IO[str] = path.open("a+", encoding="ascii")
        if not _locked(self._file):
            holder = _holder(self._file)
            self._file.close()
            raise Conflict(
                f"{database}: another {role} (process {holder}) has this database open; "
                "SQLite allows one of each, so stop it first"
            )
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()

    def release(self) -> None:
        # The file stays: were it removed, two processes could each lock a file of this name.
        self._file.close()


def _locked(file: IO[str]) -> bool:
    """Lock a file exclusively; False where another process keeps it for PATIENCE_S."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_S)


def _holder(file: IO[str]) -> str:
    file.seek(0)
    return file.read().strip() or "unknown"
