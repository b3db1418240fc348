"""A tuner.tune.bench.Bench on a simulated device: whole jobs in one process, without a service."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.ir.show import show
from tuner.log import LoggedWorkload, TuningLog
from tuner.record import Candidate, Peaks, Record
from tuner.target import target
from tuner.tune.bench import Bench
from tuner.workload.workload import Workload
from workers.simulate.device import Device, Trial


class SimulatedBench(Bench):
    """Measures at once what is submitted and hands it out in that order. A lost connection, the
    one fault that belongs to a worker, does not happen here.

    One bench serves one job; a log may be shared by several, which then is their memory.
    """

    def __init__(
        self, device: Device, log: TuningLog, workloads: Sequence[Workload], job: str = "job"
    ) -> None:
        self.log, self.device, self._job = log, device, job
        self._workloads = {w.hash: (w, show(w.program)) for w in workloads}
        for workload, text in self._workloads.values():
            log.add_workload(LoggedWorkload(
                hash=workload.hash, text=text, names=workload.names, op=workload.op,
                sizes=workload.sizes, flops=workload.flops, io_bytes=workload.io_bytes,
            ))  # fmt: skip
        self._peaks: Peaks | None = None
        self._known: dict[str, Record] = {}
        self._fresh: list[Record] = []

    def fingerprint(self, wait_s: float) -> str | None:
        """See tuner.tune.bench.Bench, also for the other methods."""
        del wait_s
        return self.device.fingerprint

    def compiler(self) -> str:
        return self.device.compiler

    def peaks(self) -> Peaks | None:
        return self._peaks

    def submit(self, candidates: Sequence[Candidate]) -> None:
        for candidate in candidates:
            if candidate.id not in self._known:
                self._known[candidate.id] = self._measured(candidate)
            self._fresh.append(self._known[candidate.id])

    def outstanding(self) -> list[Candidate]:
        return []

    def pending_elsewhere(self, workload: str) -> list[Candidate]:
        del workload
        return []

    def collect(self, wait_s: float) -> list[Record]:
        del wait_s
        fresh, self._fresh = self._fresh, []
        return fresh

    def withdraw(self) -> None:
        """Nothing is ever outstanding."""

    def cancelled(self) -> bool:
        return False

    def _measured(self, candidate: Candidate) -> Record:
        hardware = target(candidate.target)
        _, text = self._workloads[candidate.workload]
        self._peaks = self._peaks or self.device.peaks(hardware, text)
        measurement = self.device.measure(Trial(
            workload=candidate.workload, program=text, hardware=hardware, steps=candidate.steps,
            purpose=candidate.purpose, timing=candidate.timing,
        ))  # fmt: skip
        record = Record(
            id=candidate.id, workload=candidate.workload, target=candidate.target,
            fingerprint=self.device.fingerprint, steps=candidate.steps, purpose=candidate.purpose,
            measurement=measurement, job=self._job, worker="simulated",
            number=candidate.number,
        )  # fmt: skip
        self.log.append([record])
        return record
