"""A search that starts from a log of other workloads beside one that starts from nothing, live.

    taskset -c 1 python -m benchmarks.warm FOLDER [--target T] [--workload NAME ...]

FOLDER holds the log that `benchmarks.transfer measure` made on this machine. Each workload is
searched by two services of its own: cold with an empty log and 64 trials, warm with the records of
all other workloads and 8 trials. Then the two winners are timed in turn. Prints Markdown.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks import transfer_log
from benchmarks.compare import interleaved
from benchmarks.numpys import aligned
from benchmarks.search import Curve, curve_of
from benchmarks.simulated import print_table
from benchmarks.transfer import TARGET
from benchmarks.transfer_workloads import WORKLOADS, Asked
from tilewright import load, output
from tilewright.client import Json
from tilewright.commands.schedules import source_text
from tilewright.demo import running_service
from tilewright.follow import follow
from tuner.log import LoggedWorkload
from tuner.log_lines import record_line, workload_line
from tuner.record import Record

COLD_TRIALS, WARM_TRIALS = 64, 8
#: All of f32.
HELD_OUT = (
    "matmul 72x200x300", "batch_matmul 8x32x100x50", "dense 64x256x128xrelu",
    "conv1d 32x256x32x3x1", "conv2d 32x28x28x32x3x3x1", "softmax 64x512",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ended:
    """A search and the C text of its winner."""

    curve: Curve
    source: str


def search(asked: Asked, target: str, trials: int, known: Sequence[str], console: Console) -> Ended:
    """One job under a service whose log begins with the lines `known`."""
    workload = {"program": asked.text} if asked.text else _of_catalogue(asked)
    budget = {"trials": trials, "seconds": 900}
    wanted = {"workloads": [workload], "target": target, "budget": budget}
    with (
        tempfile.TemporaryDirectory(prefix="tilewright-") as folder,
        running_service(Path(folder), console) as (client, _),
    ):
        if known:
            came = client.upload("/v1/records/import", (f"{line}\n".encode() for line in known))
            assert not came["lines_refused"], came["refused"]
        job = follow(client, client.post("/v1/jobs", wanted), console)
        best = job["workloads"][0]["best"]
        return Ended(curve_of(client, job), source_text(client, best["id"]))


def _of_catalogue(asked: Asked) -> Json:
    return {"op": asked.op, "sizes": dict(asked.sizes), "dtype": asked.dtype}


def without(
    workloads: Sequence[LoggedWorkload], records: Sequence[Record], target: str, held_out: str
) -> Iterator[str]:
    """The lines of a log on `target` in which the workload with the hash `held_out` is missing."""
    now = datetime.now(UTC).isoformat()
    for workload in workloads:
        if workload.hash != held_out:
            yield workload_line(workload)
    for record in records:
        if record.workload != held_out and record.target == target:
            # The log of the benchmark knows no moments.
            yield record_line(replace(record, created_at=record.created_at or now))


def timed_in_turn(sources: Sequence[str]) -> list[float]:
    """Seconds of kernels of one workload on the same normals: the fastest sample of each, which
    other work on the machine disturbs least."""
    kernels = [load(source) for source in sources]
    rng = np.random.default_rng(0)
    inputs = [aligned(p.shape) for p in kernels[0].inputs]
    for array in inputs:
        array[...] = rng.standard_normal(array.shape, dtype=np.float32)
    outputs = [aligned(p.shape) for p in kernels[0].outputs]
    found = interleaved([kernel.bind(*inputs, out=outputs) for kernel in kernels])
    return [min(samples) for samples in found]


def row(name: str, cold: Ended, warm: Ended, seconds: Sequence[float]) -> list[str]:
    """One line of the table; speeds are relative to the cold search's winner."""
    early = cold.curve.best_s[-1] / cold.curve.best_s[WARM_TRIALS - 1]
    return [
        name, *(f"{s * 1e6:.1f}" for s in seconds), f"{seconds[0] / seconds[1]:.2f}",
        f"{early:.2f}", *(f"{one.curve.at_s[-1]:.0f}" for one in (cold, warm)),
    ]  # fmt: skip


def main() -> None:
    """Measures and prints."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--target", default=TARGET)
    arguments.add_argument("--workload", nargs="+", default=HELD_OUT)
    given = arguments.parse_args()
    heads = [
        "workload", f"cold, {COLD_TRIALS} trials, µs", f"warm, {WARM_TRIALS} trials, µs",
        "warm's speed", f"cold's after {WARM_TRIALS} trials", "cold, s", "warm, s",
    ]  # fmt: skip
    speeds: list[float] = []
    print_table(heads, rows(given.folder / "log.jsonl", given.target, given.workload, speeds))
    print(f"\nmedian of warm's speed: {statistics.median(speeds):.2f}")


def rows(path: Path, target: str, names: Sequence[str], speeds: list[float]) -> Iterator[list[str]]:
    """A line for each workload; `speeds` gets warm's."""
    workloads, records = transfer_log.read(path)
    console = output.console(stderr=True)
    for asked in (one for one in WORKLOADS if one.name in names):
        known = list(without(workloads, records, target, asked.workload().hash))
        cold = search(asked, target, COLD_TRIALS, [], console)
        warm = search(asked, target, WARM_TRIALS, known, console)
        seconds = timed_in_turn([cold.source, warm.source])
        speeds.append(seconds[0] / seconds[1])
        yield row(asked.name, cold, warm, seconds)


if __name__ == "__main__":
    main()
