"""A lock file per role: on SQLite exactly one server and one tuner open a database.

The kernel holds the lock, not the file: it is free again the moment its process dies.
"""

from __future__ import annotations

import fcntl
import os
from enum import StrEnum
from pathlib import Path
from typing import IO

from tuner.errors import Conflict


class Role(StrEnum):
    """Who opens a database for as long as it runs."""

    SERVER = "server"
    TUNER = "tuner"


class RoleLock:
    """Holds `PATH.ROLE.lock` until `release`. Raises Conflict if another process holds it."""

    def __init__(self, database: Path, role: Role) -> None:
        path = database.with_name(f"{database.name}.{role}.lock")
        self._file: IO[str] = path.open("a+", encoding="ascii")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = _holder(self._file)
            self._file.close()
            raise Conflict(
                f"{database}: another {role} (process {holder}) has this database open; "
                "SQLite allows one of each, so stop it first"
            ) from None
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()

    def release(self) -> None:
        # The file stays: were it removed, two processes could each lock a file of this name.
        self._file.close()


def _holder(file: IO[str]) -> str:
    file.seek(0)
    return file.read().strip() or "unknown"
