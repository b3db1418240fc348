"""What there is: operators, targets, workers, workloads."""

from __future__ import annotations

from fastapi import APIRouter
from sqlalchemy import select

from db import workers
from db.rows import workload_of
from db.schema import WorkloadRow
from server.auth import Reader
from server.schemas import (
    LoggedWorkloadOut,
    OperatorOut,
    OperatorsOut,
    TargetOut,
    TargetsOut,
    WorkersOut,
    WorkloadPage,
)
from server.services.paging import Cursor, Limit, read_cursor, write_cursor
from server.services.service import ServiceOf
from server.services.views import worker_view, workload_view
from tuner.target import TARGETS
from tuner.target import target as target_of
from tuner.workload.catalogue import OPERATORS

router = APIRouter(prefix="/v1", tags=["catalogue"])


@router.get("/ops")
def list_operators(_who: Reader) -> OperatorsOut:
    """The operators, with their sizes and defaults."""
    items = [
        OperatorOut(name=op.name, doc=op.doc, sizes=dict(op.sizes), dtypes=list(op.dtypes))
        for op in OPERATORS.values()
    ]
    return OperatorsOut(items=items)


@router.get("/targets")
def list_targets(service: ServiceOf, _who: Reader) -> TargetsOut:
    """The targets, and how many live workers have each. Of those with several threads, and of
    simulated ones, those that a live worker has are listed."""
    with service.database.read() as session:
        live = workers.live(session, service.clock() - service.settings.live_s)
    offered = sorted({name for worker in live for name in worker.targets} - set(TARGETS))
    items = [
        TargetOut(
            name=target.name,
            kind=target.kind,
            isa=list(target.isa),
            vector_bits=target.vector_bits,
            threads=target.threads,
            simulated=target.simulated,
            live_workers=sum(target.name in worker.targets for worker in live),
        )
        for target in (*TARGETS.values(), *(target_of(name) for name in offered))
    ]
    return TargetsOut(items=items)


@router.get("/workers")
def list_workers(service: ServiceOf, _who: Reader) -> WorkersOut:
    """Every worker that ever enrolled."""
    live_since = service.clock() - service.settings.live_s
    with service.database.read() as session:
        items = [worker_view(worker, live_since) for worker in workers.everyone(session)]
    return WorkersOut(items=items)


@router.get("/workloads")
def list_workloads(
    service: ServiceOf, _who: Reader, limit: Limit = 100, cursor: Cursor = None
) -> WorkloadPage:
    """The workloads, by hash."""
    query = select(WorkloadRow).order_by(WorkloadRow.hash).limit(limit)
    after = read_cursor(cursor)
    if after is not None:
        query = query.where(WorkloadRow.hash > after)
    with service.database.read() as session:
        items = [workload_view(workload_of(row)) for row in session.scalars(query)]
    more = write_cursor(items[-1].hash) if len(items) == limit else None
    return WorkloadPage(items=items, next=more)


@router.get("/workloads/{hash}")
def show_workload(hash: str, service: ServiceOf, _who: Reader) -> LoggedWorkloadOut:
    """One workload with its canonical program."""
    return workload_view(service.log.workload(hash))
