"""The workers' side: enrol, claim, beat, report."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from db import leases, workers
from db.leases import Claim, Grant, Report
from db.queue import candidate_of
from db.schema import WorkloadRow
from db.workers import Enrolment
from server.auth import WorkerToken
from server.problems import Problem
from server.services.service import Service, ServiceOf
from server.worker_schemas import (
    BeatIn,
    BeatOut,
    ClaimIn,
    EnrolIn,
    EnrolOut,
    GrantOut,
    ItemOut,
    ResultsIn,
    ResultsOut,
)
from tuner.errors import Conflict

router = APIRouter(prefix="/v1/worker", tags=["worker"])


@router.post("/enrol", status_code=201)
def enrol(asked: EnrolIn, service: ServiceOf, _who: WorkerToken) -> EnrolOut:
    """Introduce a worker. One that enrols again gives back what it had leased."""
    _require_generator(service, asked.generator)
    with service.database.write() as session:
        worker = workers.enrol(session, Enrolment(**asked.model_dump()), service.clock())
    settings = service.settings
    return EnrolOut(
        worker_id=worker.id,
        lease_s=settings.lease_s,
        beat_s=settings.beat_s,
        poll_s=settings.poll_s,
    )


@router.post(
    "/claims", response_model=GrantOut, responses={204: {"description": "nothing to do for now"}}
)
async def claim(
    asked: ClaimIn, service: ServiceOf, _who: WorkerToken, request: Request
) -> GrantOut | Response:
    """Wait for candidates to measure. The same claim gets the same grant, so repeat a lost one."""
    await run_in_threadpool(_seen, service, asked.worker_id)
    clock = asyncio.get_running_loop().time
    until = clock() + service.settings.poll_s
    while not await request.is_disconnected():
        changed = service.changes.next()
        grant = await run_in_threadpool(_claim, service, asked)
        if grant is not None:
            return grant
        left = until - clock()
        if left <= 0:
            break
        await service.changes.wait(changed, left)
    return Response(status_code=204)


def _require_generator(service: Service, generator: str) -> None:
    if generator != service.generator:
        raise Problem(
            "other-generator", 426, f"this server's generator is {service.generator}, the worker's "
            f"{generator}: install the same version of Tilewright on both",
        )  # fmt: skip


def _seen(service: Service, id: str) -> None:
    """The worker waits for work. One that enrolled before the server became another version is
    refused: it would generate other texts."""
    with service.database.write() as session:
        worker = workers.get(session, id)
        _require_generator(service, worker.generator)
        worker.seen_at = service.clock()


def _claim(service: Service, asked: ClaimIn) -> GrantOut | None:
    wish = Claim(
        worker=asked.worker_id,
        id=asked.claim_id,
        targets=asked.targets,
        max_items=asked.max_items,
    )
    with service.database.read() as session:
        if not leases.has_work(session, wish):
            return None
    lease_s = service.settings.lease_s
    with service.database.write() as session:
        grant = leases.claim(session, wish, service.clock(), lease_s)
        if grant is None:
            return None
        workload = session.get_one(WorkloadRow, grant.items[0].workload)
        return _grant_view(grant, workload.text, lease_s)


def _grant_view(grant: Grant, program: str, lease_s: float) -> GrantOut:
    first = candidate_of(grant.items[0])
    return GrantOut(
        lease_id=grant.lease.id,
        fence=grant.lease.fence,
        lease_s=lease_s,
        job=grant.job.id,
        workload=first.workload,
        program=program,
        target=first.target,
        purpose=first.purpose,
        timing=asdict(first.timing),
        peaks_wanted=grant.job.peaks is None,
        items=[ItemOut(candidate=row.id, steps=row.steps) for row in grant.items],
    )


@router.post("/heartbeats")
def heartbeat(asked: BeatIn, service: ServiceOf, _who: WorkerToken) -> BeatOut:
    """Keep leases. Stop the work of those under `cancel` and `lost`; the first still take
    results."""
    now = service.clock()
    with service.database.write() as session:
        workers.get(session, asked.worker_id).seen_at = now
        expires_at = now + service.settings.lease_s
        beat = leases.beat(session, asked.worker_id, asked.leases, expires_at)
    return BeatOut(cancel=beat.cancel, lost=beat.lost, drain=False)


@router.post("/results")
def report(asked: ResultsIn, service: ServiceOf, _who: WorkerToken) -> ResultsOut:
    """Hand in results, each exactly once: repetitions are told as replayed."""
    said = Report(
        worker=asked.worker_id,
        lease=asked.lease_id,
        fence=asked.fence,
        results={item.candidate: item.read() for item in asked.results},
        peaks=None if asked.peaks is None else asked.peaks.read(),
    )
    try:
        with service.database.write() as session:
            receipt = leases.report(session, said, service.clock())
    except Conflict as error:
        raise Problem("stale-lease", 409, str(error)) from error
    return ResultsOut(accepted=receipt.accepted, replayed=receipt.replayed)
