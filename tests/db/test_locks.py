"""The lock of a role waits out a glance at it, and nothing longer."""

import fcntl
import threading
from pathlib import Path

import pytest

from db.locks import Role, RoleLock
from tuner.errors import Conflict


def test_a_lock_that_is_held_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    database = tmp_path / "tilewright.db"
    glance = (tmp_path / "tilewright.db.tuner.lock").open("a+")
    fcntl.flock(glance, fcntl.LOCK_EX)
    freed = threading.Timer(0.2, glance.close)
    freed.start()
    RoleLock(database, Role.TUNER).release()
    freed.join()


def test_a_lock_that_another_keeps_is_refused_with_its_process(tmp_path: Path) -> None:
    database = tmp_path / "tilewright.db"
    first = RoleLock(database, Role.TUNER)
    with pytest.raises(Conflict, match=r"another tuner \(process \d+\) has this database open"):
        RoleLock(database, Role.TUNER)
    first.release()
    RoleLock(database, Role.TUNER).release()
