"""One job from its lease to its end: what the tuning loop tells goes to the database."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from db import events, jobs, tuning
from db.clock import Clock
from db.engine import Database
from db.errors import DatabaseUnavailable
from db.events import EventKind
from db.rows import workload_of
from db.schema import JobRow, WorkloadRow
from db.states import JobState
from tuner.errors import Conflict, WorkloadError
from tuner.frontends.text import parse
from tuner.log import LoggedWorkload
from tuner.target import target
from tuner.tune.job import State, Tuned, TuneJob
from tuner.workload.workload import Workload, admit

_log = logging.getLogger(__name__)
#: Of a lease's time, how much passes between two renewals.
_RENEWAL_SHARE = 0.25


def tune_job(database: Database, job: JobRow, now: float) -> TuneJob:
    """What the loop has to do for `job`. Raises TilewrightError where this version reads one of
    its workloads otherwise than the version that admitted it."""
    with database.read() as session:
        rows = jobs.workloads_of(session, job.id)
        logged = [workload_of(session.get_one(WorkloadRow, row.workload)) for row in rows]
    return TuneJob(
        id=job.id,
        workloads=tuple(_workload(item) for item in logged),
        target=target(job.target or ""),
        trials=job.budget_trials,
        seconds=max(0.0, tuning.remaining_s(job, now)),
        strategy=job.strategy,
        seed=job.seed,
        more=job.more,
        weights={row.workload: row.weight for row in rows},
        spent=job.spent,
    )


def _workload(logged: LoggedWorkload) -> Workload:
    workload = admit(parse(logged.text), logged.op, logged.sizes)
    if workload.hash != logged.hash:
        raise WorkloadError(
            f"workload {logged.hash} is {workload.hash} to this version; submit it anew"
        )
    return workload


class JobProgress:
    """A tuner.tune.job.Progress that makes events, and keeps on the job what it spent. A trial's
    event is made where it is recorded."""

    def __init__(self, database: Database, job: str, fence: int, clock: Clock) -> None:
        self._database, self._job, self._fence, self._clock = database, job, fence, clock

    def event(self, kind: str, data: dict[str, Any]) -> None:
        if kind == EventKind.TRIAL:
            return
        with self._database.write() as session:
            job = tuning.hold(session, self._job, self._fence)
            if kind == "spent":
                job.spent = data["seconds"]
                return
            events.add(session, job, EventKind(kind), data, self._clock())


def conclude(database: Database, job: str, fence: int, tuned: Sequence[Tuned], now: float) -> None:
    """Ends a job with what the loop returned: it is done if any workload has a best."""
    by_hash = {item.workload: item for item in tuned}
    with database.write() as session:
        row = tuning.hold(session, job, fence)
        for item in jobs.workloads_of(session, job):
            end = by_hash[item.workload]
            item.state, item.reason = JobState(end.state), end.reason
            item.best = end.best.id if end.best else None
        state, reason = _verdict(tuned)
        jobs.end(session, row, state, reason, now)


def _verdict(tuned: Sequence[Tuned]) -> tuple[JobState, str]:
    if any(item.state == State.CANCELLED for item in tuned):
        return JobState.CANCELLED, "cancelled by a user"
    without = [item for item in tuned if item.best is None]
    if len(without) == len(tuned):
        return JobState.FAILED, without[0].reason
    if without:
        return JobState.DONE, f"{len(without)} of {len(tuned)} workloads have no schedule"
    return JobState.DONE, tuned[0].reason if len(tuned) == 1 else ""


def fail(database: Database, job: str, fence: int, reason: str, now: float) -> None:
    """Ends a job that cannot be run."""
    with database.write() as session:
        jobs.end(session, tuning.hold(session, job, fence), JobState.FAILED, reason, now)


class Lease:
    """Renews a tuner's lease of a job in a thread of its own, while the loop thinks."""

    def __init__(
        self, database: Database, job: str, fence: int, lease_s: float, clock: Clock
    ) -> None:
        self._database, self._job, self._fence = database, job, fence
        self._lease_s, self._clock = lease_s, clock
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"lease of {job}", daemon=True)

    def __enter__(self) -> Lease:
        self._thread.start()
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _value: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _keep(self) -> None:
        while not self._over.wait(self._lease_s * _RENEWAL_SHARE):
            try:
                with self._database.write() as session:
                    until = self._clock() + self._lease_s
                    tuning.renew(session, self._job, self._fence, until)
            except DatabaseUnavailable as error:
                _log.warning("the lease of job %s was not renewed: %s", self._job, error)
            except Conflict:
                # The bench finds it out too, in the loop's thread, and ends the loop.
                return
