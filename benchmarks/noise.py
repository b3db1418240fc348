"""Whether the play-off finds the winner under noise, on simulated machines.

    python -m benchmarks.noise [--seeds N]

A search's trials are 64 points: the 56 that the machine model likes best of 2,000, and 8 at random.
How much slower than the fastest of them, in truth, is the one whose trial was fastest, and the one
that the play-off chose? Each seed is another machine and other noise.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.simulated import MACHINE, Points, device, operator, print_table
from tuner.codegen.kernel import GENERATOR
from tuner.log import steps_key
from tuner.model import analytic
from tuner.record import Purpose, Record, Setup
from tuner.space.knobs import Floats
from tuner.tune import TuneJob
from tuner.tune.history import seconds_of
from tuner.tune.playoff import leaders, ranking
from tuner.tune.track import Track
from workers.simulate.device import Device

NOISES = (0.01, 0.05, 0.20)
DRAWN, LIKED, RANDOM = 2000, 56, 8
WORKLOADS = {
    "matmul 512³": operator("matmul", {"m": 512, "n": 512, "k": 512}),
    "conv2d 1×64×56×56": operator(
        "conv2d", {"n": 1, "c": 64, "h": 56, "w": 56, "f": 64, "kh": 3, "kw": 3, "pad": 1}
    ),
    "softmax 512×1024": operator("softmax", {"rows": 512, "cols": 1024}),
}


class Contest:
    """The trials of one workload, and who wins them."""

    def __init__(self, points: Points) -> None:
        self._points = points
        liked = np.argsort(-analytic.scores(points.table), kind="stable")
        others = np.setdiff1d(np.arange(len(liked)), liked[:LIKED])
        self._rows = [*liked[:LIKED].tolist(), *others[:RANDOM].tolist()]
        self._row_of: dict[str, int] = {steps_key(points.steps[row]): row for row in self._rows}
        job = TuneJob(
            id="noise", workloads=(points.workload,), target=MACHINE.target, trials=1, seconds=1.0
        )
        on = device(0, 0.0)
        self._track = Track(job, points.workload, Setup(on.fingerprint, GENERATOR, on.compiler))

    def losses(self, seed: int, noise: float) -> tuple[float, float]:
        """Shares by which trials alone, and the play-off, miss the fastest."""
        on, true = device(seed, noise), self._points.true_s(seed)
        fastest = min(true[row] for row in self._rows)
        self._track.records = [
            self._record(f"r{row}", row, true, on, Purpose.SEARCH) for row in self._rows
        ]
        alone = min(self._track.records, key=seconds_of)
        played = {
            one.id: self._record(one.id, self._row(one.steps), true, on, Purpose.PLAYOFF)
            for one in leaders(self._track)
        }
        served, *_ = ranking(self._track, played, None, MACHINE.target)
        first, second = true[self._row(alone.steps)], true[self._row(served.steps)]
        return float(first / fastest - 1), float(second / fastest - 1)

    def _row(self, steps: Mapping[str, Any]) -> int:
        return self._row_of[steps_key(steps)]

    def _record(self, id: str, row: int, true: Floats, on: Device, purpose: Purpose) -> Record:
        points = self._points
        return Record(
            id=id, workload=points.workload.hash, target=MACHINE.target.name,
            fingerprint=on.fingerprint, steps=points.steps[row], purpose=purpose,
            measurement=points.measured(row, float(true[row]), on, purpose),
        )  # fmt: skip


def quantiles(values: Sequence[float]) -> str:
    """Median, ninth decile and largest, in percent."""
    ordered = sorted(values)
    ninth = ordered[round(0.9 * (len(ordered) - 1))]
    return " / ".join(f"{100 * v:.1f}" for v in (statistics.median(ordered), ninth, ordered[-1]))


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--seeds", type=int, default=40)
    seeds = arguments.parse_args().seeds
    rows = []
    for name, workload in WORKLOADS.items():
        contest = Contest(Points(workload, DRAWN, seed=0))
        for noise in NOISES:
            found = [contest.losses(seed, noise) for seed in range(seeds)]
            alone, played = zip(*found, strict=True)
            rows.append((name, f"{noise:.0%}", quantiles(alone), quantiles(played)))
    print_table(("workload", "noise", "trials alone, %", "with the play-off, %"), rows)


if __name__ == "__main__":
    main()
