"""A bench without machines: seconds follow from the schedule, results come in any order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tuner.codegen.kernel import GENERATOR, generate
from tuner.ir.show import show
from tuner.log import LoggedWorkload, MemoryLog, RecordFilter, TuningLog
from tuner.record import Candidate, Measurement, Outcome, Peaks, Purpose, Record, Setup
from tuner.schedule.steps import schedule_from_json
from tuner.target import target
from tuner.workload.workload import Workload

MACHINE = "f1:test"
COMPILER = "cc 1"
SETUP = Setup(MACHINE, GENERATOR, COMPILER)


def by_hash(steps: dict[str, Any]) -> Measurement:
    """Between 1 and 2 ms, the same for the same schedule."""
    digest = hashlib.sha256(json.dumps(steps, sort_keys=True).encode()).digest()
    seconds = 1e-3 * (1 + int.from_bytes(digest[:4], "big") / 2**32)
    return Measurement(outcome=Outcome.OK, median_s=seconds, source_sha256=digest.hex())


def failing(steps: dict[str, Any]) -> Measurement:
    """Every candidate computes wrongly."""
    return Measurement(outcome=Outcome.WRONG_RESULT, detail="b2[0] is 3, expected 4")


class Clock:
    """Seconds that pass only when the bench is waited for."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class FakeBench:
    """A tuner.tune.bench.Bench that keeps its records in a log, as a server does."""

    def __init__(
        self, workloads: Sequence[Workload], log: TuningLog | None = None,
        measure: Callable[[dict[str, Any]], Measurement] = by_hash, job: str = "job",
        setup: Setup = SETUP,
    ) -> None:  # fmt: skip
        self.log = log or MemoryLog()
        self.workloads = {w.hash: w for w in workloads}
        for w in workloads:
            self.log.add_workload(LoggedWorkload(
                hash=w.hash, text=text_of(w), flops=w.flops, io_bytes=w.io_bytes
            ))  # fmt: skip
        self.clock = Clock()
        self.measure, self.job, self.setup = measure, job, setup
        self.rng = np.random.default_rng(0)
        #: every submission, in order
        self.submitted: list[list[Candidate]] = []
        self.queue: list[Candidate] = []
        #: benches of other jobs on the same machine
        self.others: list[FakeBench] = []
        self.known: dict[str, Record] = {}
        self.again: list[Record] = []
        self.withdrawn = 0
        #: results that one collect() gives, and seconds that it takes
        self.batch, self.tick_s = 5, 0.1
        self.cancel_after: int | None = None
        #: calls of fingerprint() before a machine is there
        self.absent = 0
        #: largest number of searched candidates waiting at a time
        self.deepest = 0

    def fingerprint(self, wait_s: float) -> str | None:
        self.absent -= 1
        if self.absent >= 0:
            self.clock.now += wait_s
            return None
        return self.setup.fingerprint

    def compiler(self) -> str:
        return self.setup.compiler

    def peaks(self) -> Peaks | None:
        return Peaks(flops_per_s=1e11, copy_bytes_per_s=1e11)

    def submit(self, candidates: Sequence[Candidate]) -> None:
        waiting = {c.id for c in self.queue}
        for candidate in candidates:
            if candidate.id in self.known:
                self.again.append(self.known[candidate.id])
            elif candidate.id not in waiting:
                self.queue.append(candidate)
        self.submitted.append(list(candidates))
        self.deepest = max(self.deepest, len(self.queue))

    def outstanding(self) -> list[Candidate]:
        return list(self.queue)

    def pending_elsewhere(self, workload: str) -> list[Candidate]:
        return [
            c
            for bench in self.others
            for c in bench.queue
            if c.workload == workload and c.purpose is Purpose.SEARCH
        ]

    def collect(self, wait_s: float) -> list[Record]:
        self.clock.now += self.tick_s
        found, self.again = self.again, []
        for _ in range(min(self.batch, len(self.queue))):
            candidate = self.queue.pop(int(self.rng.integers(len(self.queue))))
            record = self._record(candidate)
            self.log.append([record])
            record = self.log.records(RecordFilter(job=self.job))[-1]
            self.known[record.id] = record
            found.append(record)
        return found

    def withdraw(self) -> None:
        self.withdrawn += len(self.queue)
        self.queue.clear()

    def cancelled(self) -> bool:
        return self.cancel_after is not None and len(self.known) >= self.cancel_after

    def searched(self) -> list[Candidate]:
        """Every search candidate, in the order of submission."""
        return [c for round_ in self.submitted for c in round_ if c.purpose is Purpose.SEARCH]

    def played(self) -> list[list[Candidate]]:
        """The play-offs."""
        return [r for r in self.submitted if r[0].purpose is Purpose.PLAYOFF]

    def _record(self, candidate: Candidate) -> Record:
        measurement = self.measure(candidate.steps)
        if candidate.purpose is Purpose.PLAYOFF and measurement.outcome is Outcome.OK:
            measurement = self._many_samples(candidate, measurement)
        return Record(
            id=candidate.id, workload=candidate.workload, target=candidate.target,
            fingerprint=self.setup.fingerprint, steps=candidate.steps, purpose=candidate.purpose,
            measurement=replace(
                measurement, generator=self.setup.generator, compiler=self.setup.compiler
            ),
            job=self.job, number=candidate.number,
        )  # fmt: skip

    def _many_samples(self, candidate: Candidate, once: Measurement) -> Measurement:
        """30 samples around the median, and the sum of the real source."""
        assert once.median_s is not None
        program = self.workloads[candidate.workload].program
        source = generate(program, schedule_from_json(candidate.steps), target(candidate.target))
        samples = tuple(once.median_s * (1 + 1e-6 * (i - 14.5)) for i in range(30))
        return Measurement(
            outcome=Outcome.OK, median_s=once.median_s, samples_s=samples,
            source_sha256=source.sha256,
        )  # fmt: skip


def text_of(workload: Workload) -> str:
    """Canonical program text."""
    return show(workload.program)
