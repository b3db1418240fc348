"""`make demo`: tune four kernels on this machine, from program text to measured, verified C.

Starts a service of its own in a temporary directory on a free port, asks it over REST, writes
what it found into ./tilewright-demo/ and stops everything again.
"""

from __future__ import annotations

import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console

from tilewright import connection, output, units
from tilewright.client import HttpClient, Json
from tilewright.commands.schedules import source_text, stages_text
from tilewright.follow import follow
from tilewright.supervisor import Role, Supervisor, tilewright
from tuner.errors import TilewrightError

FOLDER = Path("tilewright-demo")
#: trials and seconds for all four workloads together, play-offs included
BUDGET = {"trials": 512, "seconds": 240}
#: seconds in which the service has to answer
START_S = 60.0

DENSE_RELU = """\
def dense_relu(x: f32[512, 768], w: f32[768, 3072], b: f32[3072], y: f32[512, 3072]):
    h = buffer(f32[512, 3072])
    for i, j in grid(512, 3072):
        h[i, j] = 0.0
        for k in range(768):
            h[i, j] += x[i, k] * w[k, j]
    for i, j in grid(512, 3072):
        y[i, j] = max(h[i, j] + b[j], 0.0)
"""

WORKLOADS: tuple[Json, ...] = (
    {"op": "matmul", "sizes": {"m": 512, "n": 512, "k": 512}, "dtype": "f32"},
    {"program": DENSE_RELU},
    {
        "op": "conv2d",
        "sizes": {"n": 1, "c": 64, "h": 56, "w": 56, "f": 64, "kh": 3, "kw": 3, "pad": 1},
        "dtype": "f32",
    },
    {"op": "softmax", "sizes": {"rows": 512, "cols": 1024}, "dtype": "f32"},
)


class DemoFailed(TilewrightError):
    """The service did not start, or a workload has no verified schedule."""


def main() -> int:
    """Run the demo; its exit status."""
    console = output.console()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
            return _demo(Path(folder), console)
    except KeyboardInterrupt:
        console.print("interrupted; everything that the demo started is stopped")
        return 130
    except TilewrightError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1


def _demo(data: Path, console: Console) -> int:
    """Start a service, tune, report."""
    started = time.monotonic()
    with running_service(data, console) as (client, supervisor):
        job = client.post("/v1/jobs", {"workloads": list(WORKLOADS), "budget": BUDGET})
        job = follow(client, job, console)
        _report(client, job)
        if missing := [workload["name"] for workload in job["workloads"] if not workload["best"]]:
            said = supervisor.last_words("up")
            died = f"; {said}" if " ended (" in said else ""
            raise DemoFailed(f"no verified schedule for {', '.join(missing)}{died}")
    console.print(f"\neverything is stopped; it took {units.clock(time.monotonic() - started)}")
    return 0


@contextmanager
def running_service(data: Path, console: Console) -> Iterator[tuple[HttpClient, Supervisor]]:
    """A service with its state in `data` on a free port, stopped again on the way out.

    Raises DemoFailed where it does not start.
    """
    with Supervisor(data / "logs", console.print) as supervisor:
        supervisor.start(
            Role("up", tilewright("up", "--port", str(free_port()), "--data", str(data)))
        )
        here = _wait(supervisor, data)
        console.print(f"server, tuner and worker run at {here.url}, on SQLite in {data}\n")
        with HttpClient(here) as client:
            yield client, supervisor


def _wait(supervisor: Supervisor, data: Path) -> connection.Connection:
    """The service's address once it has written it. Raises DemoFailed where it ends or hangs."""
    here = {"TILEWRIGHT_DATA": str(data)}
    deadline = time.monotonic() + START_S
    while not (data / connection.URL_FILE).exists():
        if supervisor.status("up") is not None or time.monotonic() > deadline:
            raise DemoFailed(f"the service did not start: {supervisor.last_words('up')}")
        time.sleep(0.1)
    return connection.find(here)


def _report(client: HttpClient, job: Json) -> None:
    """Print what was found; write each schedule and its C into FOLDER."""
    FOLDER.mkdir(exist_ok=True)
    lines = []
    for workload in job["workloads"]:
        lines += ["", *output.workload_lines(workload)]
        if workload["best"]:
            files = _write(client, workload["name"], workload["best"]["id"])
            lines.append(f"  read {' and '.join(str(path) for path in files)}")
    if job["peaks"]:
        flops, copy = job["peaks"]["flops_per_s"], job["peaks"]["copy_bytes_per_s"]
        lines += ["", "this machine's peaks on one thread, measured in the same run:"]
        lines += [f"  {flops / 1e9:.1f} GFLOP/s (f32 FMA), {copy / 1e9:.1f} GB/s (copy)"]
    output.print_lines(lines)


def _write(client: HttpClient, name: str, schedule: str) -> tuple[Path, Path]:
    """The files with a schedule's program after each step, and with its C."""
    steps, code = FOLDER / f"{name}.schedule.txt", FOLDER / f"{name}.c"
    steps.write_text(stages_text(client.get(f"/v1/schedules/{schedule}/program")), "utf-8")
    code.write_text(source_text(client, schedule), "utf-8")
    return steps, code


def free_port() -> int:
    """A TCP port of the loopback interface that nobody uses at this moment."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def _interrupt(number: int, frame: FrameType | None) -> Any:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
