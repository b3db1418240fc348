"""The best schedules, their source and their programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from server.auth import Reader
from server.schemas import BestIn, BestOut, HunkOut, ScheduleOut, StageOut, StagesOut
from server.services.best import best_of
from server.services.service import ServiceOf
from server.services.views import schedule_view
from server.services.workloads import resolve
from tuner.differences import hunks
from tuner.frontends.text import parse
from tuner.ir.show import show
from tuner.schedule.apply import trace
from tuner.schedule.steps import schedule_from_json, step_text

router = APIRouter(prefix="/v1/schedules", tags=["schedules"])
_Text = Annotated[str, Query(min_length=1, max_length=200)]


@router.get("/best")
def best_by_hash(
    service: ServiceOf,
    _who: Reader,
    workload: _Text,
    target: _Text | None = None,
    k: Annotated[int, Query(ge=1, le=100)] = 1,
) -> BestOut:
    """The best schedules of a workload, fastest first. The target may be omitted while there is
    only one."""
    service.log.workload(workload)
    return best_of(service, workload, target, k)


@router.post("/best")
def best_by_description(asked: BestIn, service: ServiceOf, _who: Reader) -> BestOut:
    """As by hash, for an operator with sizes or a program text; none if it was never tuned."""
    return best_of(service, resolve(asked).logged.hash, asked.target, asked.k)


@router.get("/{id}")
def show_schedule(id: str, service: ServiceOf, _who: Reader) -> ScheduleOut:
    """One best schedule."""
    return schedule_view(service.log.schedule(id))


@router.get(
    "/{id}/source",
    response_class=Response,
    responses={200: {"content": {"text/x-c": {"schema": {"type": "string"}}}}},
)
def show_source(id: str, service: ServiceOf, _who: Reader) -> Response:
    """The generated C, byte for byte as it was measured."""
    text = service.log.source(service.log.schedule(id).source_sha256)
    return Response(text, media_type="text/x-c")


@router.get("/{id}/program", response_model_exclude_unset=True)
def show_program(
    id: str,
    service: ServiceOf,
    _who: Reader,
    diff: Annotated[bool, Query(description="also the lines that each step changed")] = False,
) -> StagesOut:
    """The program before the first step and after every one."""
    schedule = service.log.schedule(id)
    workload = service.log.workload(schedule.workload)
    steps = schedule_from_json(schedule.steps)
    programs = [show(program) for program in trace(parse(workload.text), steps)]
    texts = ["", *(step_text(step) for step in steps)]
    stages = [
        StageOut(step=text, program=program) for text, program in zip(texts, programs, strict=True)
    ]
    if diff:
        for stage, before in zip(stages, [programs[0], *programs[:-1]], strict=True):
            stage.diff = [HunkOut(**asdict(hunk)) for hunk in hunks(before, stage.program)]
    return StagesOut(names=dict(workload.names), stages=stages)
