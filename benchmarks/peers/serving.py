"""Tunes workloads through the service, as a user would, and keeps the C that it serves."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.peers import found
from benchmarks.peers.catalogue import PeerWorkload
from benchmarks.peers.times import OURS
from tilewright.client import HttpClient, Json
from tilewright.commands.schedules import source_text
from tilewright.demo import running_service
from tilewright.follow import follow
from tuner.target import target, with_threads
from workers.fingerprint import look
from workers.toolchain import find_compiler

#: of one job
LIMIT_S = 900


def target_name(threads: int) -> str:
    """The target of this machine's widest vectors with so many threads."""
    alone = target(look(find_compiler()).targets[0])
    return alone.name if threads == 1 else with_threads(alone, threads).name


def run_job(
    client: HttpClient, work: PeerWorkload, threads: int, trials: int, console: Console
) -> Json:
    """One job on one workload, to its end."""
    body = {
        "workloads": [work.request], "budget": {"trials": trials, "seconds": LIMIT_S},
        "target": target_name(threads),
    }  # fmt: skip
    return follow(client, client.post("/v1/jobs", body), console)


def keep(client: HttpClient, job: Json, work: PeerWorkload, threads: int, folder: Path) -> str:
    """Store what a job found; why there is nothing, or an empty text."""
    best: dict[str, Any] | None = job["workloads"][0]["best"]
    if best is None:
        return str(job["reason"] or "no verified schedule")
    with found.storing(folder, OURS, work.name, threads) as made:
        (made / found.KERNEL).write_text(source_text(client, best["id"]), "utf-8")
        found.write_about(made, {
            "trials": job["trials"]["done"], "failed": job["trials"]["failed"],
            "best_s": best["median_s"], "target": job["target"],
        })  # fmt: skip
    return ""


def tune(
    wanted: Sequence[tuple[PeerWorkload, int]], trials: int, folder: Path, console: Console
) -> None:
    """Tune each workload with its number of threads on one fresh service."""
    with (
        tempfile.TemporaryDirectory(prefix="tilewright-") as name,
        running_service(Path(name) / "data", console) as (client, _),
    ):
        for work, threads in wanted:
            start = time.monotonic()
            job = run_job(client, work, threads, trials, console)
            why = keep(client, job, work, threads, folder)
            console.print(f"{work.name}: {why or 'tuned'}, {time.monotonic() - start:.0f} s")
