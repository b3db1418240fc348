"""Simulated workers: many of one device in one process, each enrolled as a worker of its own.

They speak the ordinary protocol: lease, beat, report. One whose connection is lost by a fault drops
its lease unfinished and enrols again, upon which the service issues the candidates anew.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass

from tuner.codegen.kernel import GENERATOR
from tuner.errors import TargetError
from tuner.record import Measurement
from tuner.target import target
from workers.agent import HAND_IN_S, VERSION, drained_by_signals
from workers.client import Client, Grant, Item
from workers.errors import WorkerError
from workers.leases import Lease
from workers.reporter import Reporter
from workers.session import Session
from workers.simulate.device import Device, Trial
from workers.simulate.faults import Fault

log = logging.getLogger(__name__)

#: Candidates that all workers together hold at a time, as long as there are not more workers.
MAX_ITEMS = 16
MAX_WORKERS = 256
#: Looks this often whether to go on, while it pretends to be busy, seconds.
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class Fleet:
    """Workers to run."""

    device: Device
    count: int = 1
    #: serve only these of the device's targets; empty for all
    targets: tuple[str, ...] = ()

    def served(self) -> list[str]:
        """The targets to serve. Raises TargetError where one is asked for that the device has not,
        and WorkerError where the workers are too few or too many."""
        if not 1 <= self.count <= MAX_WORKERS:
            raise WorkerError(f"{self.count} simulated workers: run 1 to {MAX_WORKERS}")
        for name in self.targets:
            asked, cores = target(name), self.device.machine.cores
            if asked.family != self.device.machine.target.family or asked.threads > cores:
                raise TargetError(
                    f"the simulated {self.device.machine.name} has no target {name}; it has: "
                    f"{', '.join(self.device.targets)} and those with fewer threads"
                )
        return list(self.targets or self.device.targets)


def run(url: str, token: str, name: str, fleet: Fleet) -> int:
    """Work for the service at `url` until SIGTERM, SIGINT or the service says to stop; 0. Raises
    WorkerError or TargetError with what to do about it."""
    fleet.served()
    with closing(Client(url, token)) as client:
        workers = Workers(client, name, fleet)
        with drained_by_signals(workers.drain):
            workers.work()
    return 0


class Workers:
    """All workers of one process. `drain` set from anywhere ends them soon."""

    def __init__(self, client: Client, name: str, fleet: Fleet) -> None:
        self.drain = threading.Event()
        self._client, self._device, self._fleet = client, fleet.device, fleet
        self._introductions = [
            {
                "name": f"{name}-{number}", "fingerprint": self._device.fingerprint,
                "facts": self._device.facts, "targets": fleet.served(), "generator": GENERATOR,
                "compiler": self._device.compiler, "version": VERSION,
            }
            for number in range(1, fleet.count + 1)
        ]  # fmt: skip
        self._lost = _Once()
        self._fatal: Exception | None = None

    def work(self) -> None:
        """Serve until drained. Raises what made it impossible for a worker to go on."""
        threads = [
            threading.Thread(target=self._guarded, args=(introduction,), daemon=True)
            for introduction in self._introductions
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._fatal is not None:
            raise self._fatal

    def _guarded(self, introduction: dict[str, object]) -> None:
        try:
            self._serve(Session(self._client, introduction, self.drain))
        except Exception as error:  # raised again by the thread that waits for all
            self._fatal = error
            self.drain.set()

    def _serve(self, session: Session) -> None:
        with ExitStack() as stack:
            if not session.enrol():
                return
            stack.callback(session.heart.end)
            reporter = Reporter(self._client, lambda: session.worker_id, session.heart.let_go)
            stack.callback(reporter.end, HAND_IN_S)
            share = max(1, MAX_ITEMS // self._fleet.count)
            while (grant := session.claim(share)) is not None:
                lease = session.heart.hold(grant)
                if self._measure_all(lease, reporter):
                    reporter.finished(lease)
                else:
                    log.info("%s: the connection is lost (simulated fault)", session.worker_id)
                    lease.gone.set()
                    session.heart.let_go(lease)
                    session.enrol()

    def _measure_all(self, lease: Lease, reporter: Reporter) -> bool:
        """False where the connection was lost midway."""
        grant = lease.grant
        if grant.peaks_wanted:
            reporter.peaks(lease, self._device.peaks(target(grant.target), grant.program))
        for item in grant.items:
            trial = _trial(grant, item)
            lost = self._device.fault(trial) is Fault.DISCONNECT
            if lost and self._lost.first(item.candidate):
                return False
            measurement = self._device.measure(trial)
            if not self._busy(lease, measurement):
                break
            reporter.measured(lease, item.candidate, measurement)
        return True

    def _busy(self, lease: Lease, measurement: Measurement) -> bool:
        """Takes the time that the measurement says it took; False where it was stopped."""
        spent = measurement.build_s + measurement.check_s + measurement.timing_s
        until = time.monotonic() + spent
        while not (self.drain.is_set() or lease.gone.is_set()):
            left = until - time.monotonic()
            if left <= 0:
                return True
            self.drain.wait(min(left, _LOOK_S))
        return False


class _Once:
    """Remembers what was there before; for several threads."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def first(self, name: str) -> bool:
        """Whether `name` is new."""
        with self._lock:
            new = name not in self._seen
            self._seen.add(name)
            return new


def _trial(grant: Grant, item: Item) -> Trial:
    return Trial(
        workload=grant.workload, program=grant.program, hardware=target(grant.target),
        steps=item.steps, purpose=grant.purpose, timing=grant.timing,
    )  # fmt: skip
