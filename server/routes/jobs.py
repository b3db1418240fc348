"""Jobs: submitted, listed, shown, cancelled."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Response

from db import jobs
from db.states import JobState
from server.auth import Reader, Submitter
from server.schemas import JobIn, JobOut, JobPage
from server.services import jobs as submitting
from server.services.paging import Cursor, Limit, read_number, write_cursor
from server.services.service import ServiceOf
from server.services.views import job_view

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


@router.post("", status_code=201)
def submit_job(
    asked: JobIn,
    service: ServiceOf,
    who: Submitter,
    response: Response,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> JobOut:
    """Queue a job. With an Idempotency-Key header a repetition gets the first answer."""
    job = submitting.submit(service, asked, who, idempotency_key)
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    return job


@router.get("")
def list_jobs(
    service: ServiceOf,
    _who: Reader,
    state: JobState | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> JobPage:
    """Jobs, youngest first."""
    with service.database.read() as session:
        rows = jobs.page(session, read_number(cursor), limit, state)
        items = [job_view(session, row) for row in rows]
    more = write_cursor(rows[-1].number) if len(rows) == limit else None
    return JobPage(items=items, next=more)


@router.get("/{id}")
def show_job(id: str, service: ServiceOf, _who: Reader) -> JobOut:
    """One job with its workloads and their best schedules so far."""
    with service.database.read() as session:
        return job_view(session, jobs.get(session, id))


@router.post("/{id}/cancel")
def cancel_job(id: str, service: ServiceOf, who: Submitter) -> JobOut:
    """Ask for the end of a job; harmless when repeated. What was measured is kept."""
    return submitting.cancel(service, id, who)
