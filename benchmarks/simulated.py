"""Searches on a simulated device, in this process: what the pages' simulated figures come from."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tuner.frontends.text import parse
from tuner.ir.show import show
from tuner.log import MemoryLog, RecordFilter
from tuner.model.cost import FeatureTable
from tuner.model.machine import MACHINES
from tuner.record import Measurement, Purpose, Record, Timing
from tuner.schedule.steps import schedule_to_json
from tuner.search import STRATEGIES
from tuner.space.build import space_of
from tuner.space.knobs import Floats
from tuner.space.space import Population, Space
from tuner.target import Target
from tuner.tune import TuneJob, tune
from tuner.workload.catalogue import complete_sizes, program_text
from tuner.workload.operator import Sizes
from tuner.workload.workload import Workload, admit
from workers.simulate.bench import SimulatedBench
from workers.simulate.device import BUILD_S, CHECK_S, Device, Trial
from workers.simulate.truth import true_seconds

#: The machine that the pages' figures are of.
MACHINE = MACHINES["zen4"]


def device(seed: int, noise: float) -> Device:
    """The machine; `noise` is the deviation of one sample's logarithm."""
    return Device(machine=MACHINE, seed=seed, noise=noise, quick=True)


def operator(op: str, sizes: Sizes, dtype: str = "f32") -> Workload:
    """A workload of the catalogue."""
    return admit(parse(program_text(op, sizes, dtype)), op, complete_sizes(op, sizes))


class Points:
    """Points of a workload's space, drawn at random, with what is known of them without noise."""

    def __init__(self, workload: Workload, n: int, seed: int) -> None:
        self.workload, self.text = workload, show(workload.program)
        self.hardware: Target = MACHINE.target
        self.space: Space = space_of(workload.program, self.hardware)
        strategy = STRATEGIES["random"](self.space, np.random.default_rng(seed))
        self.points: Population = strategy.ask(n, lambda points: np.zeros(len(points)))
        self.table = FeatureTable(workload.program, self.space, self.hardware).of(self.points)
        self.steps = [
            schedule_to_json(self.space.schedule(self.points, row))
            for row in range(len(self.points))
        ]

    def true_s(self, seed: int) -> Floats:
        """Seconds of each on the machine with this seed."""
        return true_seconds(self.table, self.hardware, seed)

    def measured(self, row: int, true_s: float, on: Device, purpose: Purpose) -> Measurement:
        """A trial of one of them."""
        return on.timed(Trial(
            workload=self.workload.hash, program=self.text, hardware=self.hardware,
            steps=self.steps[row], purpose=purpose, timing=Timing(),
        ), true_s)  # fmt: skip


def seconds_of_trial(measured: Measurement) -> float:
    """Seconds of building, checking and timing on the simulated machine."""
    return BUILD_S + CHECK_S + sum(measured.samples_s) * measured.calls_per_sample


@dataclass(frozen=True, slots=True)
class Searched:
    """A search that ended."""

    #: its trials, in the order in which they were asked for
    records: list[Record]
    #: seconds that the tuner itself spent on searching and fitting, up to the end of each round
    own_s: list[float]


class _Spending:
    """A Progress that keeps what the tuner itself had spent after each round."""

    def __init__(self) -> None:
        self.own_s: list[float] = []

    def event(self, kind: str, data: dict[str, Any]) -> None:
        if kind == "spent":
            self.own_s.append(data["seconds"]["search"] + data["seconds"]["model"])


def evolved(
    workloads: tuple[Workload, ...], on: Device, trials: int, seed: int, log: MemoryLog
) -> Searched:
    """An evolutionary search on what `log` knows already."""
    job = TuneJob(
        id=f"{len(log.records(RecordFilter()))} {seed}", workloads=workloads,
        target=MACHINE.target, trials=trials, seconds=1e9, seed=seed,
    )  # fmt: skip
    spending = _Spending()
    tune(job, log, SimulatedBench(on, log, workloads, job.id), spending)
    records = log.records(RecordFilter(job=job.id, purpose=Purpose.SEARCH))
    return Searched(sorted(records, key=lambda r: r.number), spending.own_s)


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Median and range."""
    middle = statistics.median(values)
    return f"{middle:.{digits}f} ({min(values):.{digits}f} … {max(values):.{digits}f})"


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table of Markdown, each row as it comes."""
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads), flush=True)
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
