"""The tuning log: listed, exported and imported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from server.auth import Admin, Reader
from server.problems import Problem
from server.record_schemas import ImportOut, RecordPage
from server.services.paging import Cursor, Limit, read_number, write_cursor
from server.services.service import ServiceOf
from server.services.views import record_view
from tuner.log import RecordFilter
from tuner.log_import import LineSplitter, LogImport
from tuner.log_lines import canonical_lines, lines
from tuner.record import Outcome, Purpose

router = APIRouter(prefix="/v1/records", tags=["records"])
MEDIA_TYPE = "application/x-ndjson"


class RecordsAsked(BaseModel):
    """Which records; a parameter that nobody knows is an error."""

    model_config = ConfigDict(extra="forbid")

    workload: str | None = None
    target: str | None = None
    fingerprint: str | None = None
    job: str | None = None
    purpose: Purpose | None = None
    outcome: Outcome | None = None

    def where(self) -> RecordFilter:
        return RecordFilter(
            workload=self.workload,
            target=self.target,
            fingerprint=self.fingerprint,
            job=self.job,
            purpose=self.purpose,
            outcome=self.outcome,
        )


class PageAsked(RecordsAsked):
    """One page of them."""

    limit: Limit = 100
    cursor: Cursor = None


class ExportAsked(RecordsAsked):
    """All of them, or the trials of one job in the form that two runs have in common."""

    canonical: bool = False


@router.get("")
def list_records(
    asked: Annotated[PageAsked, Query()], service: ServiceOf, _who: Reader
) -> RecordPage:
    """The tuning log, oldest first."""
    found = service.log.records(asked.where(), read_number(asked.cursor) or 0, asked.limit)
    more = write_cursor(found[-1].sequence) if len(found) == asked.limit else None
    return RecordPage(items=[record_view(record) for record in found], next=more)


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}},
)
def export_records(
    asked: Annotated[ExportAsked, Query()], service: ServiceOf, _who: Reader
) -> StreamingResponse:
    """The tuning log as JSON lines, oldest first, each workload before its records. With
    `canonical`, the trials of one job in the order in which it asked for them, without what differs
    between two equal runs."""
    if asked.canonical and (asked.job is None or asked.where() != RecordFilter(job=asked.job)):
        raise Problem(
            "invalid-request", 422, "a canonical export is of one whole job: give job and nothing "
            "else", pointer="/query/job",
        )  # fmt: skip
    pages = (
        canonical_lines(service.log, asked.job or "")
        if asked.canonical
        else lines(service.log, asked.where())
    )
    return StreamingResponse(_text(pages), media_type=MEDIA_TYPE)


def _text(pages: Iterable[list[str]]) -> Iterator[str]:
    """A page at a time: each is a transaction of its own, and no more than one is in memory."""
    for page in pages:
        yield "".join(f"{line}\n" for line in page)


@router.post(
    "/import",
    openapi_extra={
        "requestBody": {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}, "required": True}
    },
)
async def import_records(request: Request, service: ServiceOf, _who: Admin) -> ImportOut:
    """Take in exported lines, batch by batch, each in one transaction. A line that cannot be taken
    in is told and left out; what is there already stays as it is, so a repetition is harmless.
    Imported records guide searches and are never served unmeasured."""
    splitter, taking = LineSplitter(), LogImport(service.log)
    async for chunk in request.stream():
        for batch in splitter.feed(chunk):
            await run_in_threadpool(taking.take, batch)
    for batch in splitter.end():
        await run_in_threadpool(taking.take, batch)
    return ImportOut(**asdict(taking.came))
