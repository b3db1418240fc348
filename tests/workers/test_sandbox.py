"""Runs are bounded and leave nothing behind."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from tests.conftest import require
from workers.errors import Stopped
from workers.hostlock import HostLock
from workers.sandbox import run_bounded
from workers.scratch import scratch


def alive(pid: int) -> bool:
    """Is there a process `pid` that is not a zombie?"""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def gone(pid: int) -> bool:
    """Does `pid` end within a while?"""
    until = time.monotonic() + 5
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not alive(pid)


def test_output_and_status_are_kept() -> None:
    sh = require("sh")
    ended = run_bounded([sh, "-c", "echo out; echo err >&2; exit 3"], 10)
    assert (ended.status, ended.out, ended.err) == (3, "out\n", "err\n")
    assert not ended.timed_out
    assert not ended.stopped


def test_long_output_does_not_block() -> None:
    ended = run_bounded([require("sh"), "-c", "yes | head -c 3000000; exec >&-; sleep 0.1"], 10)
    assert ended.status == 0
    assert len(ended.out) == 3000000


def test_children_of_a_program_that_ended_are_killed() -> None:
    """A child that holds the pipes open neither delays the end nor survives it."""
    start = time.monotonic()
    ended = run_bounded([require("sh"), "-c", "sleep 60 & echo $!"], 30)
    assert time.monotonic() - start < 20
    assert gone(int(ended.out))


def test_time_is_up_for_the_whole_tree() -> None:
    script = "sleep 60 & echo $!; sleep 60 & echo $!; wait"
    ended = run_bounded([require("sh"), "-c", script], 0.3)
    assert ended.timed_out
    assert ended.status < 0
    assert all(gone(int(pid)) for pid in ended.out.split())


def test_stop_ends_a_run() -> None:
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    ended = run_bounded([require("sh"), "-c", "sleep 60"], 30, stop.is_set)
    assert ended.stopped
    assert not ended.timed_out


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    first, second = HostLock(tmp_path), HostLock(tmp_path)
    with first.held(), pytest.raises(Stopped), second.held(lambda: True):
        pass
    with second.held(lambda: True):
        pass


def test_scratch_is_removed_and_leftovers_swept(tmp_path: Path) -> None:
    ended = run_bounded([require("sh"), "-c", "echo $$"], 10)
    leftover = tmp_path / f"tilewright-{ended.out.strip()}-x"
    own = tmp_path / f"tilewright-{os.getpid()}-x"
    leftover.mkdir()
    own.mkdir()
    with scratch((tmp_path,)) as folder:
        assert folder.parent == tmp_path
        assert not leftover.exists()
        assert own.exists()
    assert not folder.exists()
