"""A job's events as a stream: what was missed first, then what happens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from db import events, jobs
from db.events import EventKind
from db.schema import EventRow
from db.states import ENDED
from server.auth import Reader
from server.services.service import Service, ServiceOf

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
#: Events read at once; a stream holds no more than these in memory.
_PAGE = 200
#: Longest sleep between two looks: a guard only, a change wakes the stream.
_LOOK_S = 30.0


def _require_job(id: str, service: ServiceOf, _who: Reader) -> str:
    with service.database.read() as session:
        return jobs.get(session, id).id


LastEventId = Annotated[
    int, Header(alias="Last-Event-ID", ge=0, le=2**62, description="number of the last one seen")
]


@router.get("/{id}/events", response_class=EventSourceResponse)
async def stream_events(
    service: ServiceOf, job: Annotated[str, Depends(_require_job)], last_event_id: LastEventId = 0
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events (state, trial, round, best, done), numbered from 1; ends after `done`."""
    while True:
        changed = service.changes.next()
        rows, ended = await run_in_threadpool(_after, service, job, last_event_id)
        for row in rows:
            yield ServerSentEvent(id=str(row.number), event=row.kind, data=row.data)
            last_event_id = row.number
            if row.kind == EventKind.DONE:
                return
        if ended and not rows:
            return
        if len(rows) < _PAGE:
            await service.changes.wait(changed, _LOOK_S)


def _after(service: Service, job: str, number: int) -> tuple[list[EventRow], bool]:
    with service.database.read() as session:
        ended = jobs.get(session, job).state in ENDED
        return events.since(session, job, number, _PAGE), ended
