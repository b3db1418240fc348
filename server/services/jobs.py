"""Submitting jobs, and who may stop them."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace

from sqlalchemy.orm import Session

from db import idempotency, jobs
from db.idempotency import Key
from db.jobs import NewJob
from db.tokens import TokenRole
from server.gate import Principal
from server.problems import Problem
from server.schemas import JobIn, JobOut
from server.services.memory import answer_at_once
from server.services.service import Service
from server.services.views import job_view
from server.services.workloads import refused_at, resolve
from tuner.target import target


def submit(service: Service, asked: JobIn, who: Principal, key: str | None) -> JobOut:
    """Queues what is asked for; a key that was used before gets the answer it got then.

    Raises Problem where something in it is refused, Conflict where the key asked another thing.
    """
    new = _new_job(asked, who)
    with service.database.write() as session:
        if key is None:
            return _create(service, session, new)
        request = hashlib.sha256(asked.model_dump_json().encode()).hexdigest()
        once = Key(token=who.token, key=key, request=request)
        answer = idempotency.answered(session, once)
        if answer is not None:
            return JobOut.model_validate(answer)
        view = _create(service, session, new)
        idempotency.keep(session, once, view.model_dump(mode="json"), service.clock())
        return view


def _create(service: Service, session: Session, new: NewJob) -> JobOut:
    job = jobs.create(session, new, service.clock())
    answer_at_once(service, session, job)
    return job_view(session, job)


def _new_job(asked: JobIn, who: Principal) -> NewJob:
    if asked.target is not None:
        name = asked.target
        refused_at("/target", lambda: target(name))
    workloads = tuple(
        replace(resolve(item, f"/workloads/{position}"), weight=item.weight)
        for position, item in enumerate(asked.workloads)
    )
    (hash, times), *_ = Counter(item.logged.hash for item in workloads).most_common(1)
    if times > 1:
        raise Problem(
            "invalid-request", 422, f"workload {hash} is given {times} times", pointer="/workloads"
        )
    return NewJob(
        owner=who.token,
        workloads=workloads,
        target=asked.target,
        strategy=asked.strategy,
        seed=asked.seed,
        priority=asked.priority,
        trials=asked.budget.trials,
        seconds=asked.budget.seconds,
        wait_s=asked.deadline_s,
        more=asked.more,
    )


def cancel(service: Service, id: str, who: Principal) -> JobOut:
    """Cancels a job; does nothing the second time. Raises NotFound, and Problem for a job of
    somebody else."""
    with service.database.write() as session:
        job = jobs.lock(session, id)
        if who.role != TokenRole.ADMIN and job.owner != who.token:
            raise Problem("forbidden", 403, f"job {id} was submitted with another token")
        jobs.cancel(session, job, service.clock())
        return job_view(session, job)
