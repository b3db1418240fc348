"""The worker: enrols, leases candidates, measures them, reports. It dials out and never listens."""

from __future__ import annotations

import logging
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tuner.codegen.kernel import GENERATOR
from tuner.errors import TargetError
from tuner.record import Measurement, Outcome, Purpose
from tuner.target import Target, target
from workers.build import Built
from workers.builder import Refused
from workers.check import CheckSet
from workers.client import Client, Grant
from workers.errors import NoReference, ServiceError, Stopped, WorkerError
from workers.fingerprint import Machine, look, measuring_cpu, measuring_cpus, other_cpus
from workers.hostlock import HostLock
from workers.leases import Lease
from workers.measure import Bench, measure
from workers.peaks import measure_peaks
from workers.pipeline import Chunk, Pipeline, in_order_of_arrival
from workers.playoff import play_off
from workers.reporter import Reporter
from workers.scratch import scratch
from workers.session import Session
from workers.toolchain import Compiler, cache_dir, find_compiler, runner

log = logging.getLogger(__name__)

VERSION = "0.1.0"
#: Leases at a time: one is measured while the next one's candidates are built.
LEASES = 2
#: Seconds that a drain gives the current candidate, and the hand-in of what is measured.
GRACE_S, HAND_IN_S = 2.0, 5.0
#: Leases given up in a row, since the worker itself failed, after which it ends.
MOST_FAILURES = 3


@dataclass(frozen=True, slots=True)
class Options:
    """How a worker runs."""

    #: serve only these of the machine's targets; empty for all
    targets: tuple[str, ...] = ()
    max_items: int = 16
    #: where built programs and the host-wide lock are kept
    cache: Path = field(default_factory=cache_dir)


@dataclass(frozen=True, slots=True)
class _Work:
    """A lease whose candidates are being built."""

    lease: Lease
    checks: Future[CheckSet]
    builds: list[Future[Chunk]]


def run(url: str, token: str, name: str, options: Options | None = None) -> int:
    """Work for the service at `url` until SIGTERM, SIGINT or the service says to stop; 0.

    A first signal drains: the current candidate may end, what is measured is handed in. Raises
    WorkerError (no compiler, a refused token, another version, …) with what to do about it.
    """
    options = options or Options()
    compiler = find_compiler()
    machine = look(compiler)
    with closing(Client(url, token)) as client:
        agent = Agent(client, compiler, machine, name, options)
        with drained_by_signals(agent.drain), _on_cores(agent.free):
            agent.work()
    return 0


class Agent:
    """One worker process. `drain` set from anywhere ends it soon."""

    def __init__(
        self, client: Client, compiler: Compiler, machine: Machine, name: str, options: Options
    ) -> None:
        self.drain = threading.Event()
        self._client, self._compiler, self._options = client, compiler, options
        self._targets = machine.targets
        #: cores that timing leaves alone
        self.free = other_cpus()
        lock = HostLock(options.cache)
        self._cpu = measuring_cpu()
        self._bench = Bench(runner(compiler, options.cache), measuring_cpus(), lock, GENERATOR)
        introduction = {
            "name": name, "fingerprint": machine.fingerprint, "facts": machine.facts,
            "targets": _served(machine, options), "generator": GENERATOR,
            "compiler": compiler.version, "version": VERSION,
        }  # fmt: skip
        self._session = Session(client, introduction, self.drain)
        self._ready: queue.Queue[_Work] = queue.Queue()
        self._slots = threading.Semaphore(LEASES)
        self._fatal: ServiceError | None = None
        self._drained_at: float | None = None

    def work(self) -> None:
        """Enrol and serve until drained. Raises what made it impossible to go on."""
        with ExitStack() as stack:
            if not self._session.enrol():
                return
            stack.callback(self._session.heart.end)
            folder = stack.enter_context(scratch())
            pipeline = Pipeline(self._options.cache, folder, self._cpu, sorted(self.free))
            stack.callback(pipeline.close)
            session = self._session
            reporter = Reporter(self._client, lambda: session.worker_id, session.heart.let_go)
            stack.callback(reporter.end, HAND_IN_S)
            stack.callback(self.drain.set)
            threading.Thread(target=self._claim_ahead, args=(pipeline,), daemon=True).start()
            self._serve(pipeline, reporter)
        if self._fatal is not None:
            raise self._fatal

    def _claim_ahead(self, pipeline: Pipeline) -> None:
        """In a thread of its own: have the next lease's candidates built in time."""
        while not self.drain.is_set():
            if not self._slots.acquire(timeout=1):
                continue
            try:
                if (grant := self._session.claim(self._options.max_items)) is not None:
                    lease = self._session.heart.hold(grant)
                    self._ready.put(_Work(lease, pipeline.checks(grant), pipeline.builds(grant)))
            except ServiceError as error:
                self._fatal = error
                self.drain.set()
            except RuntimeError:  # the drain has closed the client or the pipeline meanwhile
                if not self.drain.is_set():
                    raise

    # Measuring, in the calling thread: runners die with the thread that started them.

    def _serve(self, pipeline: Pipeline, reporter: Reporter) -> None:
        failures = 0
        while not self.drain.is_set():
            try:
                work = self._ready.get(timeout=0.1)
            except queue.Empty:
                continue
            try:
                self._measure_all(work, pipeline, reporter)
                failures = 0
            except Stopped:
                log.info("lease %s stopped", work.lease.grant.lease_id)
            except (WorkerError, OSError) as error:
                failures += 1
                log.exception("lease %s is given up", work.lease.grant.lease_id)
                if failures >= MOST_FAILURES:
                    raise WorkerError(f"{failures} leases in a row failed: {error}") from error
            finally:
                for build in work.builds:
                    build.cancel()
                reporter.finished(work.lease)
                pipeline.forget(work.lease.grant)
                self._slots.release()

    def _measure_all(self, work: _Work, pipeline: Pipeline, reporter: Reporter) -> None:
        grant, stop = work.lease.grant, self._stop_for(work.lease)
        try:
            checks = next(in_order_of_arrival([work.checks], stop))
        except NoReference as error:
            for item in grant.items:
                reporter.measured(work.lease, item.candidate, self._refusal(str(error), grant))
            return
        with self._undisturbed(work, pipeline, stop):
            if grant.peaks_wanted:
                peaks = measure_peaks(
                    self._peaks_target(grant), checks.io_bytes, self._compiler,
                    self._options.cache, self._bench, stop,
                )  # fmt: skip
                reporter.peaks(work.lease, peaks)
            if grant.purpose is Purpose.PLAYOFF:
                self._play_off(work, checks, reporter)
            else:
                self._one_by_one(work, checks, reporter)

    @contextmanager
    def _undisturbed(
        self, work: _Work, pipeline: Pipeline, stop: Callable[[], bool]
    ) -> Iterator[None]:
        """One thread is timed on a core of its own, beside builds. Several would share theirs with
        builds: all candidates are built first, and no others are until these are timed."""
        if target(work.lease.grant.target).threads == 1:
            yield
            return
        for _ in in_order_of_arrival(work.builds, stop):
            pass
        with pipeline.gate.measuring(stop):
            yield

    def _one_by_one(self, work: _Work, checks: CheckSet, reporter: Reporter) -> None:
        grant, stop = work.lease.grant, self._stop_for(work.lease)
        for chunk in in_order_of_arrival(work.builds, stop):
            for item, one in chunk:
                if self.drain.is_set():
                    raise Stopped("the worker drains")
                if isinstance(one, Refused):
                    measurement = self._refusal(one.detail, grant)
                else:
                    measurement = measure(one, checks, grant.timing, self._bench, stop)
                reporter.measured(work.lease, item.candidate, measurement)

    def _peaks_target(self, grant: Grant) -> Target:
        """PoCL computes with what the core has: as much as this machine's first CPU target."""
        asked = target(grant.target)
        if asked.kind != "opencl":
            return asked
        return next((t for t in map(target, self._targets) if t.kind == "cpu"), asked)

    def _play_off(self, work: _Work, checks: CheckSet, reporter: Reporter) -> None:
        grant, stop = work.lease.grant, self._stop_for(work.lease)
        made = [pair for chunk in in_order_of_arrival(work.builds, stop) for pair in chunk]
        leaders = [(item, one) for item, one in made if isinstance(one, Built)]
        timed = play_off([b for _, b in leaders], checks, grant.timing, self._bench, stop)
        for (item, _), measurement in zip(leaders, timed, strict=True):
            reporter.measured(work.lease, item.candidate, measurement)
        for item, one in made:
            if isinstance(one, Refused):
                measurement = self._refusal(one.detail, grant)
                reporter.measured(work.lease, item.candidate, measurement)

    def _refusal(self, detail: str, grant: Grant) -> Measurement:
        return Measurement(
            outcome=Outcome.REFUSED, detail=detail, generator=GENERATOR,
            compiler=self._compiler.version, timing=grant.timing,
        )  # fmt: skip

    def _stop_for(self, lease: Lease) -> Callable[[], bool]:
        """Has the lease gone, or the drain waited long enough for the current candidate?"""

        def stop() -> bool:
            if lease.gone.is_set():
                return True
            if not self.drain.is_set():
                return False
            self._drained_at = self._drained_at or time.monotonic()
            return time.monotonic() - self._drained_at > GRACE_S

        return stop


def _served(machine: Machine, options: Options) -> list[str]:
    """The targets to serve. Raises TargetError where one is asked for that the machine lacks."""
    missing = [t for t in options.targets if t not in machine.targets]
    if missing or not machine.targets:
        raise TargetError(
            f"this machine has no target {', '.join(missing) or 'at all'}; "
            f"it has: {', '.join(machine.targets) or 'none'}"
        )
    return list(options.targets or machine.targets)


@contextmanager
def drained_by_signals(drain: threading.Event) -> Iterator[None]:
    """SIGTERM and SIGINT drain, where this is the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught = (signal.SIGTERM, signal.SIGINT)
    before = {s: signal.signal(s, lambda *_: drain.set()) for s in caught}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _on_cores(cpus: set[int]) -> Iterator[None]:
    """Keep this thread, and what it starts, on `cpus`: off the core that is measured on."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
