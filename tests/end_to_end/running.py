"""Tilewright as its users run it: real processes, spoken to over REST."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tilewright import connection
from tilewright.client import HttpClient, Json, ServiceError
from tilewright.demo import free_port
from tilewright.results import ENDED
from tilewright.supervisor import tilewright

#: seconds for a small job, restarts and expiring leases included
PATIENCE_S = 240.0


@dataclass(frozen=True, slots=True)
class Running:
    """A `tilewright up` in a directory of its own."""

    process: subprocess.Popen[str]
    data: Path
    client: HttpClient

    def pid(self, role: str) -> int | None:
        """The process of a role that `up` started; None while there is none."""
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                parent = int(stat.read_text().rpartition(")")[2].split()[1])
                command = stat.with_name("cmdline").read_text().split("\0")
                if parent == self.process.pid and role in command:
                    return int(stat.parent.name)
        return None

    def kill(self, role: str) -> None:
        """kill -9 a role and wait until `up` has started another."""
        first = self.pid(role)
        assert first is not None, f"{role} does not run"
        os.kill(first, signal.SIGKILL)
        until(lambda: self.pid(role) not in (None, first), f"{role} started again")

    def job(self, id: str) -> Json:
        return self.client.get(f"/v1/jobs/{id}")

    def records(self, job: str) -> dict[str, Json]:
        """The records of a job, by id."""
        return {item["id"]: item for item in self.client.pages("/v1/records", 10_000, job=job)}

    def finished(self, id: str) -> Json:
        """The job once it has ended; the server may be away meanwhile."""

        def ended() -> bool:
            try:
                return self.job(id)["state"] in ENDED
            except ServiceError as error:
                if error.status:
                    raise
                return False

        until(ended, f"job {id} ended")
        return self.job(id)

    def logs(self) -> str:
        """What the roles printed, for a test that failed."""
        files = sorted((self.data / "logs").glob("*.log"))
        return "\n".join(f"== {file.name}\n{file.read_text()[-4000:]}" for file in files)


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition; fails after PATIENCE_S."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S:g} s: {what}"
        time.sleep(0.1)


@contextlib.contextmanager
def running_up(data: Path) -> Iterator[Running]:
    """Run `tilewright up` until the end of the block; its roles' logs are shown if it fails."""
    command = tilewright("up", "--port", str(free_port()), "--data", str(data))
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as (
        process
    ):
        try:
            url = data / connection.URL_FILE
            until(lambda: url.exists() or process.poll() is not None, "the service started")
            assert process.poll() is None, process.communicate()[0]
            here = connection.find({"TILEWRIGHT_DATA": str(data)})
            with HttpClient(here) as client:
                running = Running(process, data, client)
                try:
                    yield running
                except BaseException:
                    print(running.logs())
                    raise
        finally:
            process.terminate()
