"""How long until a result that TVM's MetaSchedule has after 256 trials, on one thread.

    python -m benchmarks.time_to_result [--only W1,W7,W13] [--trials N] [--python tvm=INTERPRETER]

Each workload is tuned by TVM once (kept with its date in the folder of benchmarks.peers) and by a
fresh service with an empty log, N trials at most. Both results are then timed in turn, and our
trials' medians are brought to the clock of that moment by the ratio of what is served, then and
now. Bar: TVM's wall time is 6 times ours or more. Beside it stands when a trial of ours was as fast
as TVM's fastest, both as they were recorded while they tuned.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.peers import found, serving
from benchmarks.peers.catalogue import WORKLOADS, PeerWorkload
from benchmarks.peers.process import PeerProcess
from benchmarks.peers.setup import Setup, interpreter, measure, names_of
from benchmarks.peers.times import OURS, Row
from tilewright import output
from tilewright.demo import running_service

DEFAULT = ["W1", "W7", "W13"]
#: the least ratio of TVM's wall time and ours
BAR = 6.0


@dataclass(frozen=True, slots=True)
class Point:
    """The fastest so far at a moment of a tuning."""

    wall_s: float
    trials: int
    best_s: float


def best_so_far(seconds: Sequence[tuple[float, float | None]]) -> list[Point]:
    """The curve of trials in the order in which they ended: (wall, median; None if it failed)."""
    curve: list[Point] = []
    for trials, (wall_s, median_s) in enumerate(seconds, start=1):
        if median_s is not None and (not curve or median_s < curve[-1].best_s):
            curve.append(Point(wall_s, trials, median_s))
    return curve


def reached(curve: Sequence[Point], goal_s: float) -> Point | None:
    """The first point that is as fast as `goal_s`."""
    return next((point for point in curve if point.best_s <= goal_s), None)


@dataclass(frozen=True, slots=True)
class Race:
    """One workload, tuned by both."""

    row: Row
    #: wall seconds of TVM's whole tuning, and its curve
    tvm_s: float
    tvm_curve: list[Point]
    #: of ours, with medians as they were recorded
    curve: list[Point]
    #: what our play-off measured for what is served
    served_s: float

    @property
    def goal(self) -> Point | None:
        """When ours was as fast as TVM's result is now; None where it never was."""
        now_over_then = self.row.times[OURS].median_s / self.served_s
        return reached(self.curve, self.row.times["tvm"].median_s / now_over_then)

    @property
    def claimed(self) -> Point | None:
        """When a trial of ours was as fast as TVM's fastest, each as it was recorded."""
        return reached(self.curve, self.tvm_curve[-1].best_s)

    @property
    def ratio(self) -> float | None:
        """TVM's wall time over ours; None where its result was not reached."""
        return None if self.goal is None else self.tvm_s / self.goal.wall_s

    def to_json(self) -> dict[str, Any]:
        """One line of what is written."""
        curves = {
            name: [[p.wall_s, p.trials, p.best_s] for p in curve]
            for name, curve in (("tvm_curve", self.tvm_curve), ("curve", self.curve))
        }
        return {
            "time_to_result": self.row.work.name, "tvm_s": self.tvm_s, "ratio": self.ratio,
            "reached_s": self.goal.wall_s if self.goal else None, "served_s": self.served_s,
            **curves, "timed": self.row.to_json(),
        }  # fmt: skip

    def cells(self) -> list[str]:
        """For the table."""
        tvm, ours = (self.row.times[name].median_s * 1e3 for name in ("tvm", OURS))
        goal, best = self.goal, self.tvm_curve[-1]
        return [
            f"{self.row.work.name} {self.row.work.title}", f"{self.tvm_s:.0f} s",
            f"{best.wall_s:.0f} s", f"{tvm:.3g} ms", f"{ours:.3g} ms",
            _moment(goal), f"{self.ratio:.1f}" if self.ratio else "", f"{BAR:g}",
            f"{best.best_s * 1e3:.3g} ms", _moment(self.claimed),
        ]  # fmt: skip


HEAD = ("workload", "TVM, 256 trials", "its best found after", "TVM's result now", "ours now",
        "ours as fast after (trials)", "TVM's wall / ours", "bar", "TVM's fastest trial",
        "a trial of ours as fast after")  # fmt: skip


def _moment(point: Point | None) -> str:
    return "not reached" if point is None else f"{point.wall_s:.1f} s ({point.trials})"


def tune_ours(
    work: PeerWorkload, trials: int, folder: Path, console: Console
) -> tuple[list[Point], float]:
    """The curve of a job on a service that knows nothing, and its play-off's median; what it
    serves is stored. Raises SystemExit where there is nothing."""
    with (
        tempfile.TemporaryDirectory(prefix="tilewright-") as name,
        running_service(Path(name) / "data", console) as (client, _),
    ):
        job = serving.run_job(client, work, 1, trials, console)
        asked = datetime.fromisoformat(job["created_at"])
        if why := serving.keep(client, job, work, 1, folder):
            raise SystemExit(f"time_to_result: {work.name}: {why}")
        records = client.pages("/v1/records", 100_000, job=job["id"], purpose="search")
    trials_in_order = sorted(
        ((datetime.fromisoformat(r["created_at"]) - asked).total_seconds(),
         r["measurement"]["median_s"]) for r in records
    )  # fmt: skip
    return best_so_far(trials_in_order), job["workloads"][0]["best"]["median_s"]


def race(work: PeerWorkload, trials: int, setup: Setup, console: Console) -> Race:
    """Tune with both, then time both in turn. Raises SystemExit where one of them has nothing."""
    if why := setup.tune_tvm(work, 1):
        raise SystemExit(f"time_to_result: {work.name}: TVM {why}")
    told = found.about(setup.folder, "tvm", work.name, 1) or {}
    lines = (found.place(setup.folder, "tvm", work.name, 1) / found.CURVE).read_text("utf-8")
    steps = [json.loads(line) for line in lines.splitlines()]
    cold = Setup(setup.pythons, setup.folder / "cold")
    curve, served_s = tune_ours(work, trials, cold.folder, console)

    def start(name: str, threads: int) -> PeerProcess:
        return (cold if name == OURS else setup).start(name, threads)

    row = measure([work], 1, ("tvm", OURS), start, lambda row: None)[0]
    if row.skipped:
        raise SystemExit(f"time_to_result: {work.name}: {dict(row.skipped)}")
    tvm_curve = best_of_batches(steps)
    return Race(row, told["tuning_s"], tvm_curve, curve, served_s)


def best_of_batches(steps: Sequence[dict[str, Any]]) -> list[Point]:
    """TVM's curve, which has a step for each batch: those at which it became faster."""
    curve: list[Point] = []
    for step in steps:
        best_s = step["best_s"]
        if best_s is not None and (not curve or best_s < curve[-1].best_s):
            curve.append(Point(step["wall_s"], step["trials"], best_s))
    return curve


def main() -> int:
    """Run the races; 0 where each ratio reaches the bar."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", type=names_of(WORKLOADS), default=DEFAULT)
    parser.add_argument("--trials", type=int, default=256)
    parser.add_argument("--python", type=interpreter, action="append", default=[])
    parser.add_argument("--folder", type=Path, default=found.FOLDER)
    given = parser.parse_args()
    setup, console = Setup(dict(given.python), given.folder), output.console()
    races = [race(WORKLOADS[name], given.trials, setup, console) for name in given.only]
    path = given.folder / "runs" / f"{datetime.now(UTC):%Y%m%dT%H%M%S}-time.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r.to_json()) + "\n" for r in races), "utf-8")
    for cells in (HEAD, ["---"] * len(HEAD), *(r.cells() for r in races)):
        print(f"| {' | '.join(cells)} |")
    print(f"written: {path}")
    return 0 if all(r.ratio is not None and r.ratio >= BAR for r in races) else 1


if __name__ == "__main__":
    sys.exit(main())
