"""`make bench`: tune some workloads, then time what is served beside numpy and the limits.

    python -m benchmarks.run [--trials N] [--json FILE]

Each workload is a job of its own of at most N trials (128) on a fresh service on SQLite. Trials per
second count everything between a job's start and its last search trial: search, building, both
checks, at least 3 samples and 20 ms of timing. Last comes how fast schedules are applied,
scheduled programs lowered and emitted, and points drawn and ranked.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import ranking, schedule_speed
from benchmarks.numpys import SLOWS_NUMPY
from benchmarks.workloads import WORKLOADS, BenchWorkload
from tilewright import output
from tilewright.client import HttpClient, Json
from tilewright.commands.schedules import source_text
from tilewright.demo import running_service
from tilewright.follow import follow

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def tune(client: HttpClient, work: BenchWorkload, trials: int, console: Console) -> Json:
    """Run one job to its end."""
    body = {"workloads": [work.request], "budget": {"trials": trials, "seconds": 900}}
    return follow(client, client.post("/v1/jobs", body), console)


def trials_per_second(client: HttpClient, job: Json) -> float:
    """Search trials over the seconds from the job's start to its last search trial."""
    records = client.pages("/v1/records", 100_000, job=job["id"], purpose="search")
    times = [datetime.fromisoformat(r["created_at"]) for r in records]
    started = datetime.fromisoformat(job["started_at"])
    return len(times) / (max(times) - started).total_seconds()


def compare(folder: Path, target: str) -> list[dict[str, Any]]:
    """What benchmarks.compare measured, in a process whose numpy has one thread."""
    environment = {k: v for k, v in os.environ.items() if k not in SLOWS_NUMPY} | ONE_THREAD
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.compare", str(folder), target],
        env=environment, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def finish(row: dict[str, Any], work: BenchWorkload, job: Json, rate: float) -> dict[str, Any]:
    """`row` with rates and shares."""
    best = job["workloads"][0]["best"]
    scale = best["median_s"] / row["median_s"]
    flops, moved = best["gflops"] * 1e9 * scale, best["gbytes_per_s"] * 1e9 * scale
    compute = work.limit == "flops"
    limit = row["flops_per_s"] if compute else row["copy_bytes_per_s"]
    return row | {
        "rate": flops if compute else moved, "limit": limit,
        "share": (flops if compute else moved) / limit, "bar": work.bar,
        "numpy_ratio": row["numpy_median_s"] / row["median_s"],
        "trials": job["trials"]["done"], "failed": job["trials"]["failed"],
        "trials_per_s": rate, "served_median_s": best["median_s"], "served_ci_s": best["ci_s"],
    }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> Table:
    """The rows for people."""
    out = Table(title="one thread, medians, interleaved in one run")
    for name in ("workload", "ms", "rate", "limit", "share", "bar", "numpy ms", "numpy / ours",
                 "trials (failed)", "trials/s"):  # fmt: skip
        out.add_column(name, justify="left" if name == "workload" else "right")
    for row, work in zip(rows, WORKLOADS, strict=True):
        unit = "GFLOP/s" if work.limit == "flops" else "GB/s"
        out.add_row(
            work.name, f"{row['median_s'] * 1e3:.3f}", f"{row['rate'] / 1e9:.1f} {unit}",
            f"{row['limit'] / 1e9:.1f}", f"{row['share']:.1%}",
            f"{row['bar']:.0%}" if row["bar"] else "", f"{row['numpy_median_s'] * 1e3:.3f}",
            f"{row['numpy_ratio']:.2f}", f"{row['trials']} ({row['failed']})",
            f"{row['trials_per_s']:.1f}",
        )  # fmt: skip
    return out


def main() -> int:
    """Run everything; 0 unless a workload has no verified schedule."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--trials", type=int, default=128)
    arguments.add_argument("--json", type=Path, help="also write the rows there, one line each")
    given = arguments.parse_args()
    console = output.console()
    with tempfile.TemporaryDirectory(prefix="tilewright-") as name:
        folder = Path(name)
        jobs, rates = [], []
        with running_service(folder / "data", console) as (client, _):
            for work in WORKLOADS:
                job = tune(client, work, given.trials, console)
                best = job["workloads"][0]["best"]
                if best is None:
                    print(f"bench: {work.name}: {job['reason']}", file=sys.stderr)
                    return 1
                (folder / f"{work.name}.c").write_text(source_text(client, best["id"]), "utf-8")
                jobs.append(job)
                rates.append(trials_per_second(client, job))
        found = compare(folder, jobs[0]["target"])
    rows = [finish(*row) for row in zip(found, WORKLOADS, jobs, rates, strict=True)]
    console.print(table(rows))
    rows += [speed.to_json() for speed in schedule_speed.main()]
    rows.append(ranking.main().to_json())
    if given.json:
        given.json.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
