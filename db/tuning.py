"""Jobs as a tuner sees them: leased, kept, reported on.

Each write names the fencing number of the tuner's lease, and is refused once another tuner has
the job.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import and_, or_, select, update
from sqlalchemy.orm import Session

from db import events, jobs
from db.events import EventKind
from db.schema import JobRow, WorkerRow
from db.setups import compiler_of
from db.states import JobState
from db.turns import locked, tell
from tuner.errors import Conflict
from tuner.target import target


def lease(
    session: Session, tuner: str, live: Sequence[WorkerRow], now: float, until: float
) -> JobRow | None:
    """The most urgent job that one of the `live` workers can measure, or that is out of time.

    A queued job begins to run, on the machine that was heard of last; a running one that its
    tuner left goes on, on its machine.
    """
    waiting = or_(
        JobRow.state == JobState.QUEUED,
        and_(JobRow.state == JobState.RUNNING, JobRow.leased_until < now),
    )
    query = select(JobRow).where(waiting).order_by(JobRow.priority.desc(), JobRow.number)
    for seen in session.scalars(query).all():
        if not _due(seen, live, now):
            continue
        this = select(JobRow).where(JobRow.id == seen.id, waiting)
        job = session.scalar(locked(this, skip=True))
        if job is None or (
            job.state == JobState.QUEUED and not _settle_machine(session, job, live, now)
        ):
            continue
        _settle_compiler(job, live)
        job.tuner, job.leased_until = tuner, until
        job.fence += 1
        _start(session, job, now)
        return job
    return None


def _due(job: JobRow, live: Sequence[WorkerRow], now: float) -> bool:
    """Whether a tuner can do something about a waiting job."""
    if job.state == JobState.RUNNING:
        return _worth_running(job, live, now)
    unclear = job.target is None and len(preferred_targets(live)) > 1
    return unclear or place_of(job, live) is not None


def _settle_machine(session: Session, job: JobRow, live: Sequence[WorkerRow], now: float) -> bool:
    """Chooses target and machine of a queued job; False if it has to wait or was ended."""
    if job.target is None:
        targets = preferred_targets(live)
        if len(targets) > 1:
            reason = f"no target was named, and there is more than one: {', '.join(targets)}"
            jobs.end(session, job, JobState.FAILED, reason, now)
            return False
    place = place_of(job, live)
    if place is not None:
        job.target, job.fingerprint = place[0], place[1].fingerprint
    return place is not None


def place_of(job: JobRow, live: Sequence[WorkerRow]) -> tuple[str, WorkerRow] | None:
    """The target and the worker that a queued job would get now; None while there is no worker
    for it, or no one target."""
    targets = [job.target] if job.target is not None else preferred_targets(live)
    fitting = [worker for worker in live if targets[0] in worker.targets] if targets else []
    return (targets[0], fitting[0]) if len(targets) == 1 and fitting else None


def _settle_compiler(job: JobRow, live: Sequence[WorkerRow]) -> None:
    """Keeps the compiler with which the job began, as long as its machine has it: a job that was
    left while its machine got another one goes on with that."""
    here = [w for w in live if w.fingerprint == job.fingerprint and job.target in w.targets]
    compilers = [compiler_of(worker, job.target or "") for worker in here]
    if compilers and job.compiler not in compilers:
        job.compiler = compilers[0]


def preferred_targets(live: Sequence[WorkerRow]) -> list[str]:
    """The best target of each live worker; of those that differ only in their number of threads,
    the one with the fewest."""
    names = sorted({worker.targets[0] for worker in live}, key=lambda n: -target(n).threads)
    return sorted({target(name).family: name for name in names}.values())


def _worth_running(job: JobRow, live: Sequence[WorkerRow], now: float) -> bool:
    alive = any(worker.fingerprint == job.fingerprint for worker in live)
    return alive or job.cancel or remaining_s(job, now) <= 0


def _start(session: Session, job: JobRow, now: float) -> None:
    if job.state == JobState.RUNNING:
        return
    job.state, job.started_at = JobState.RUNNING, now
    for row in jobs.workloads_of(session, job.id):
        row.state = JobState.RUNNING
    data = {"state": JobState.RUNNING, "reason": "", "target": job.target}
    events.add(session, job, EventKind.STATE, data, now)


def remaining_s(job: JobRow, now: float) -> float:
    """What is left of the job's seconds; they count from when it began to run."""
    return job.budget_s if job.started_at is None else job.started_at + job.budget_s - now


def held(session: Session, id: str, fence: int) -> JobRow:
    """The job, for a look by the tuner that leased it. Raises Conflict if it lost the lease."""
    return _under(jobs.get(session, id), fence)


def hold(session: Session, id: str, fence: int) -> JobRow:
    """As `held`, for a write: nobody else changes the job until this transaction ends."""
    return _under(jobs.lock(session, id), fence)


def _under(job: JobRow, fence: int) -> JobRow:
    if job.fence != fence or job.state != JobState.RUNNING:
        raise Conflict(f"job {job.id!r} is {job.state} under fence {job.fence}, not {fence}")
    return job


def renew(session: Session, id: str, fence: int, until: float) -> None:
    """Keeps the lease. Raises Conflict if it is lost."""
    hold(session, id, fence).leased_until = until


def orphan_all(session: Session) -> None:
    """Ends the leases of every tuner: for one that has just started as the only one there is."""
    session.execute(update(JobRow).where(JobRow.state == JobState.RUNNING).values(leased_until=0.0))


def release(session: Session, id: str, fence: int) -> None:
    """Gives a job back unfinished, so that the next tuner goes on at once."""
    hold(session, id, fence).leased_until = 0.0
    tell(session)
