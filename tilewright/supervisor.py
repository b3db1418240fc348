"""Runs roles as processes: starts them again when they die, stops all of them at the end."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

#: seconds before a role that died is started again: the first time, and at most
BACK_OFF_S = 1.0
BACK_OFF_LIMIT_S = 30.0
#: a role that lived this long starts again without having its past held against it
STEADY_S = 60.0
#: seconds that a role has to end after SIGTERM
GRACE_S = 15.0
#: in a role's environment: its supervisor's process id
SUPERVISOR = "TILEWRIGHT_SUPERVISOR"
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Role:
    """One process to keep alive. Secrets go in its environment, never in its command."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


def tilewright(*arguments: str) -> tuple[str, ...]:
    """The command that runs `tilewright ARGUMENTS` with this interpreter."""
    return (sys.executable, "-m", "tilewright", *arguments)


@dataclass(slots=True)
class _Running:
    role: Role
    process: subprocess.Popen[bytes]
    started: float
    failures: int = 0
    #: when to start it again; None while it lives
    restart_at: float | None = None


class Supervisor:
    """Keeps roles running. As a context manager it stops them all on the way out."""

    def __init__(self, logs: Path, say: Callable[[str], None]) -> None:
        self._logs = logs
        self._say = say
        self._running: dict[str, _Running] = {}
        logs.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self, role: Role) -> None:
        """Start a role; its output goes to LOGS/NAME.log."""
        self._running[role.name] = _Running(role, self._spawn(role), time.monotonic())

    def tend(self) -> None:
        """Look at every role once: note the dead, start again those whose time has come."""
        now = time.monotonic()
        for running in self._running.values():
            if running.restart_at is None and running.process.poll() is not None:
                self._bury(running, now)
            elif running.restart_at is not None and now >= running.restart_at:
                running.process = self._spawn(running.role)
                running.started, running.restart_at = now, None

    def status(self, name: str) -> int | None:
        """The exit status of a role; None while it lives."""
        return self._running[name].process.poll()

    def pid(self, name: str) -> int:
        """The process id of a role."""
        return self._running[name].process.pid

    def last_words(self, name: str) -> str:
        """The last line that a role printed."""
        try:
            lines = (self._logs / f"{name}.log").read_text(errors="replace").split("\n")
        except OSError:
            return ""
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def stop(self) -> None:
        """End every role, the last started first: SIGTERM, then SIGKILL after GRACE_S."""
        for running in reversed(self._running.values()):
            process = running.process
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(GRACE_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        self._running.clear()

    def _bury(self, running: _Running, now: float) -> None:
        steady = now - running.started >= STEADY_S
        running.failures = 1 if steady else running.failures + 1
        delay = min(BACK_OFF_LIMIT_S, BACK_OFF_S * 2 ** (running.failures - 1))
        running.restart_at = now + delay
        name, status = running.role.name, running.process.returncode
        self._say(
            f"{name} ended ({_cause(status)}) and starts again in {delay:g} s: "
            f"{self.last_words(name)}"
        )

    def _spawn(self, role: Role) -> subprocess.Popen[bytes]:
        with (self._logs / f"{role.name}.log").open("ab") as log:
            return subprocess.Popen(
                role.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={
                    **os.environ,
                    **role.environment,
                    SUPERVISOR: str(os.getpid()),
                    "PYTHONUNBUFFERED": "1",
                },
                # a terminal's Ctrl-C is for the supervisor, which stops the roles in order
                start_new_session=True,
            )


def end_with_supervisor() -> None:
    """Called by a role: on Linux it then ends with its supervisor, even one killed by -9."""
    supervisor = os.environ.get(SUPERVISOR)
    if supervisor is None or sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(supervisor):
        sys.exit("the supervisor that started this role is gone")


def _cause(status: int) -> str:
    if status < 0:
        return f"signal {signal.Signals(-status).name}"
    return f"status {status}"
