"""Strategies beside each other: best so far against trials and seconds, as tables of Markdown.

    python -m benchmarks.search [--real] [--seeds N] [--only NAME ...]

Random search, evolution that starts cold, and evolution that starts from a log of other workloads.
The bar is what random search has found after 512 trials, in the median. Simulated unless `--real`,
which starts services of its own on this machine; there the play-offs' winners are compared as well,
since the fastest of 512 noisy trials is a luckier one than the fastest of 64. Seconds of simulated
searches are the tuner's own, here and now, plus those of the simulated trials, as if nothing
overlapped; random search spends next to none of its own.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from benchmarks.simulated import (
    Points,
    device,
    evolved,
    operator,
    print_table,
    seconds_of_trial,
    spread,
)
from tilewright import output
from tilewright.client import HttpClient, Json
from tilewright.demo import running_service
from tilewright.follow import follow
from tuner.log import MemoryLog, RecordFilter
from tuner.record import Purpose

RANDOM_TRIALS, EVOLVED_TRIALS = 512, 64
#: Trials on each of the workloads that a warm search starts from.
DONOR_TRIALS = 32
NOISE = 0.02
#: Names the simulated machine; seeds of a comparison are those of searches.
MACHINE_SEED = 0
CHECKPOINTS = (8, 16, 32, 64, 512)
STRATEGIES = ("random", "evolutionary, cold", "evolutionary, warm")


def _op(op: str, **sizes: int) -> Json:
    return {"op": op, "sizes": sizes, "dtype": "f32"}


_CONV = {"n": 1, "kh": 3, "kw": 3, "pad": 1}
WORKLOADS = {
    "matmul 512³": _op("matmul", m=512, n=512, k=512),
    "conv2d 1×64×56×56, 64 of 3×3": _op("conv2d", c=64, h=56, w=56, f=64, **_CONV),
    "softmax 512×1024": _op("softmax", rows=512, cols=1024),
}
DONORS = [
    _op("matmul", m=256, n=384, k=320),
    _op("dense", m=128, k=512, n=768),
    _op("conv2d", c=32, h=28, w=28, f=96, **_CONV),
    _op("softmax", rows=256, cols=640),
    _op("layer_norm", rows=256, cols=640),
]


@dataclass(frozen=True, slots=True)
class Curve:
    """A search: fastest so far after each trial, and when that was, in seconds."""

    best_s: list[float]
    at_s: list[float]
    #: the play-off's median of the winner; None where there was none
    served_s: float | None = None

    def reaches(self, seconds: float) -> int | None:
        """After how many trials it is as fast as that."""
        return next((n for n, best in enumerate(self.best_s, 1) if best <= seconds), None)


#: (workload, strategy, seed) -> a curve
Runner = Callable[[Json, str, int], Curve]


def simulated(asked: Json, strategy: str, seed: int) -> Curve:
    """On the simulated machine."""
    workload, on = operator(asked["op"], asked["sizes"]), device(MACHINE_SEED, NOISE)
    if strategy == "random":
        # It learns nothing, so all its points can be drawn at once.
        points = Points(workload, RANDOM_TRIALS, seed)
        true = points.true_s(MACHINE_SEED)
        trials = [points.measured(n, float(true[n]), on, Purpose.SEARCH) for n in range(len(true))]
        took = itertools.accumulate(seconds_of_trial(trial) for trial in trials)
        return Curve(_fastest([trial.median_s for trial in trials]), list(took))
    log = _warm_log(seed) if strategy.endswith("warm") else MemoryLog()
    found = evolved((workload,), on, EVOLVED_TRIALS, seed, log)
    took = itertools.accumulate(seconds_of_trial(r.measurement) for r in found.records)
    size = -(-len(found.records) // (len(found.own_s) - 1))
    at_s = [s + found.own_s[n // size] for n, s in enumerate(took)]
    return Curve(_fastest([r.measurement.median_s for r in found.records]), at_s)


_donated: dict[int, MemoryLog] = {}


def _warm_log(seed: int) -> MemoryLog:
    """A log of the donors alone."""
    donors = tuple(operator(donor["op"], donor["sizes"]) for donor in DONORS)
    if seed not in _donated:
        _donated[seed] = MemoryLog()
        on, trials = device(MACHINE_SEED, NOISE), DONOR_TRIALS * len(donors)
        evolved(donors, on, trials, seed, _donated[seed])
    source, log = _donated[seed], MemoryLog()
    for donor in donors:
        log.add_workload(source.workload(donor.hash))
    log.append(source.records(RecordFilter()))
    return log


def _fastest(medians: Sequence[float | None]) -> list[float]:
    return list(itertools.accumulate((m or float("inf") for m in medians), min))


def real(asked: Json, strategy: str, seed: int) -> Curve:
    """On this machine, under a service of its own."""
    console = output.console(stderr=True)
    name = strategy.partition(",")[0]
    with (
        tempfile.TemporaryDirectory(prefix="tilewright-") as folder,
        running_service(Path(folder), console) as (client, _),
    ):
        if strategy.endswith("warm"):
            job = _job(DONORS, DONOR_TRIALS * len(DONORS), name, seed)
            follow(client, client.post("/v1/jobs", job), console)
        trials = RANDOM_TRIALS if name == "random" else EVOLVED_TRIALS
        job = client.post("/v1/jobs", _job([asked], trials, name, seed))
        return curve_of(client, follow(client, job, console))


def _job(workloads: list[Json], trials: int, strategy: str, seed: int) -> Json:
    budget = {"trials": trials, "seconds": 3600}
    return {"workloads": workloads, "budget": budget, "strategy": strategy, "seed": seed}


def curve_of(client: HttpClient, job: Json) -> Curve:
    """The trials of a job, in the order in which they were recorded."""
    records = list(client.pages("/v1/records", 100_000, job=job["id"], purpose="search"))
    started = datetime.fromisoformat(job["started_at"])
    at_s = [(datetime.fromisoformat(r["created_at"]) - started).total_seconds() for r in records]
    best_s = _fastest([r["measurement"]["median_s"] for r in records])
    return Curve(best_s, at_s, job["workloads"][0]["best"]["median_s"])


def compare(name: str, curves: dict[str, list[Curve]]) -> None:
    """Print the tables of one workload; the fastest found by any search is 1."""
    fastest = min(curve.best_s[-1] for found in curves.values() for curve in found)
    bar = sorted(curve.best_s[-1] for curve in curves["random"])[len(curves["random"]) // 2]
    rows = []
    for strategy, found in curves.items():
        last = len(found[0].best_s)
        cells = [
            spread([fastest / curve.best_s[n - 1] for curve in found]) if n <= last else ""
            for n in CHECKPOINTS
        ]
        reached = [curve.reaches(bar) for curve in found]
        some = [n for n in reached if n is not None]
        seconds = [c.at_s[n - 1] for c, n in zip(found, reached, strict=True) if n is not None]
        when = [spread(some, 0), spread(seconds, 1)] if some else ["", ""]
        rows.append([strategy, *cells, *when, f"{len(some)} of {len(found)}"])
    print(f"\n{name}\n")
    trials = [f"after {n}" for n in CHECKPOINTS]
    print_table(["speed", *trials, "trials to the bar", "seconds to the bar", "reached"], rows)
    compare_served(curves)


def compare_served(curves: dict[str, list[Curve]]) -> None:
    """Print how fast the winners were in their play-offs, where there were any; the fastest is 1,
    and the bar is random search's median."""
    served = {
        strategy: [curve.served_s for curve in found if curve.served_s is not None]
        for strategy, found in curves.items()
    }
    if not all(served.values()):
        return
    fastest = min(min(seconds) for seconds in served.values())
    bar = statistics.median(served["random"])
    rows = [
        [
            strategy, f"{statistics.median(seconds) * 1e3:.4f} ms",
            spread([fastest / s for s in seconds]), f"{bar / statistics.median(seconds):.3f}",
            f"{sum(s <= bar for s in seconds)} of {len(seconds)}",
        ]
        for strategy, seconds in served.items()
    ]  # fmt: skip
    print()
    print_table(["served", "median", "speed", "beside the bar", "reached"], rows)


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--real", action="store_true")
    arguments.add_argument("--seeds", type=int, default=5)
    arguments.add_argument("--only", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    given = arguments.parse_args()
    runner: Runner = real if given.real else simulated
    for name in given.only:
        asked = WORKLOADS[name]
        curves = {
            strategy: [runner(asked, strategy, seed) for seed in range(given.seeds)]
            for strategy in STRATEGIES
        }
        compare(name, curves)


if __name__ == "__main__":
    main()
