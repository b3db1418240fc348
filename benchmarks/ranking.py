"""How fast a search draws, checks, featurises and ranks points, on one core, in this process.

    python -m benchmarks.ranking

100,000 points of the space of a 512 x 512 x 512 matmul, ranked by 128 trees of depth 6, which have
learned from points that the machine model labelled, disturbed. Points are drawn from those that
satisfy all constraints, which are found when the space is made; that is timed too. Checking is what
mutated and crossed points go through. Bar: 1.5 s.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import xgboost
from rich.table import Table

from tilewright import output
from tuner.features.table import features
from tuner.frontends.catalogue import program_for
from tuner.ir.canonical import canonicalize
from tuner.ir.nodes import Program
from tuner.model import analytic
from tuner.model.xgb import RankingModel
from tuner.space.build import space_of
from tuner.target import target
from workers.fingerprint import measuring_cpu

POINTS = 100_000
TREES, DEPTH, EXAMPLES = 128, 6, 4000
ROUNDS = 5
BAR_S = 1.5
SIZE = 512
TARGET = target("cpu-avx512-1t")


@dataclass(frozen=True, slots=True)
class Ranking:
    """What was measured: medians of seconds, by stage, and what was drawn."""

    wall_s: dict[str, float]
    cpu_s: dict[str, float]
    #: combinations of knobs, those of them that are legal, and draws that were not
    combinations: int
    legal: int
    rejected: int

    def to_json(self) -> dict[str, Any]:
        """The row as `make bench --json` writes it."""
        return {
            "ranked_points": POINTS, "wall_s": self.wall_s, "cpu_s": self.cpu_s,
            "combinations": self.combinations, "legal": self.legal, "rejected": self.rejected,
        }  # fmt: skip


class _Clock:
    """Wall and CPU seconds of the stages of one pass."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what runs inside."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.wall[name] = time.perf_counter() - wall
        self.cpu[name] = time.process_time() - cpu


def trained(program: Program) -> RankingModel:
    """A model of the size that the bar asks for."""
    rng = np.random.default_rng(1)
    space = space_of(program, TARGET)
    table = features(program, space, space.sample(rng, EXAMPLES), TARGET)
    label = analytic.scores(table) + rng.normal(scale=0.5, size=len(table))
    data = xgboost.DMatrix(table, label=label, nthread=1)
    parameters = {"max_depth": DEPTH, "eta": 0.1, "tree_method": "hist", "nthread": 1}
    return RankingModel(xgboost.train(parameters, data, num_boost_round=TREES))


def once(program: Program, model: RankingModel, seed: int) -> tuple[_Clock, tuple[int, int, int]]:
    """One pass: its times; combinations, legal ones, and illegal draws."""
    clock, rng = _Clock(), np.random.default_rng(seed)
    with clock.stage("make the space"):
        space = space_of(program, TARGET)
    with clock.stage("draw"):
        points = space.sample(rng, POINTS)
    with clock.stage("check"):
        legal = [
            sketch.holds(points.choice[points.sketch == index])
            for index, sketch in enumerate(space.sketches)
        ]
    with clock.stage("featurise"):
        table = features(program, space, points, TARGET)
    with clock.stage("rank"):
        np.argsort(-model.scores(table), kind="stable")
    combinations = sum(math.prod(len(k.values) for k in s.knobs) for s in space.sketches)
    return clock, (combinations, space.size, POINTS - sum(int(ok.sum()) for ok in legal))


def measure() -> Ranking:
    """Medians over passes, on one core."""
    program = canonicalize(program_for("matmul", {"m": SIZE, "n": SIZE, "k": SIZE}))[0]
    model = trained(program)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {measuring_cpu()})
    try:
        passes = [once(program, model, seed) for seed in range(ROUNDS)]
    finally:
        os.sched_setaffinity(0, cores)
    clocks = [clock for clock, _ in passes]
    stages = list(clocks[0].wall)
    wall = {name: statistics.median(c.wall[name] for c in clocks) for name in stages}
    cpu = {name: statistics.median(c.cpu[name] for c in clocks) for name in stages}
    wall["all"] = statistics.median(sum(c.wall.values()) for c in clocks)
    cpu["all"] = statistics.median(sum(c.cpu.values()) for c in clocks)
    return Ranking(wall, cpu, *passes[0][1])


def table(found: Ranking) -> Table:
    """The stages for people."""
    out = Table(
        title=f"{POINTS:,} points of a {SIZE}³ matmul, {TREES} trees of depth {DEPTH}, one core, "
        f"medians of {ROUNDS}",
        caption=f"{found.legal:,} of {found.combinations:,} combinations of knobs are legal; "
        f"{found.rejected} of the draws were rejected",
    )
    out.add_column("stage")
    for name in ("wall s", "CPU s", "bar"):
        out.add_column(name, justify="right")
    for name, seconds in found.wall_s.items():
        bar = f"{BAR_S}" if name == "all" else ""
        out.add_row(name, f"{seconds:.3f}", f"{found.cpu_s[name]:.3f}", bar)
    return out


def main() -> Ranking:
    """Measure and print; what was measured."""
    found = measure()
    output.console().print(table(found))
    return found


if __name__ == "__main__":
    main()
