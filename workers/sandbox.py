"""Runs a program that may do anything: bounded in time, and ended with all that it started."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: Bytes kept of each of the two outputs; a candidate's own would have to be hostile to be longer.
KEPT_BYTES = 1 << 22
#: How often a run asks whether it should stop, seconds.
STOP_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended."""

    #: exit status; the negated signal's number where one ended it
    status: int
    out: str
    err: str
    timed_out: bool
    stopped: bool


def never() -> bool:
    """The `stop` of runs that nothing stops."""
    return False


def run_bounded(
    argv: Sequence[str],
    limit_s: float,
    stop: Callable[[], bool] = never,
    folder: Path | None = None,
) -> Ended:
    """Run `argv` in a process group of its own; kill the group once `limit_s` seconds are over,
    `stop()` says so, or the program has ended (whatever it left behind).

    It stays in this session: kernels that schedule by session would ignore its priority otherwise.
    """
    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        cwd=folder, process_group=0,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    kept = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    deadline = time.monotonic() + limit_s
    timed_out = stopped = False
    try:
        # Its end is seen by its pidfd, not by the pipes: a child could hold those open.
        with os.fdopen(os.pidfd_open(process.pid), "rb", closefd=True) as ended:
            while not _read_until(ended.fileno(), kept, min(STOP_POLL_S, limit_s)):
                timed_out = time.monotonic() >= deadline
                stopped = not timed_out and stop()
                if timed_out or stopped:
                    break
    finally:
        kill_group(process)
    for pipe in kept:
        _drain(pipe, kept)
    out, err = (bytes(b).decode(errors="replace") for b in kept.values())
    process.stdout.close()
    process.stderr.close()
    return Ended(process.returncode, out, err, timed_out, stopped)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and its whole group, then reap it. The group is killed before the reaping:
    until then its number cannot be given to others."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _read_until(ended: int, kept: dict[int, bytearray], timeout_s: float) -> bool:
    """Read what comes for up to `timeout_s` seconds; True once `ended` is readable."""
    ready, _, _ = select.select([*kept, ended], [], [], timeout_s)
    for pipe in ready:
        if pipe != ended and not _drain(pipe, kept):
            # Closed by its writers: without a pause this would spin until the process ends.
            ready, _, _ = select.select([ended], [], [], timeout_s)
    return ended in ready


def _drain(pipe: int, kept: dict[int, bytearray]) -> bool:
    """Keep what `pipe` holds now; False once all its writers have closed it."""
    os.set_blocking(pipe, False)
    with suppress(BlockingIOError):
        while chunk := os.read(pipe, 1 << 16):
            if len(kept[pipe]) < KEPT_BYTES:
                kept[pipe] += chunk
        return False
    return True
