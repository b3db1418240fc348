"""The application: routes, what every request passes, and what runs beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.middleware import Middleware

import db
from db.clock import Clock
from db.engine import Database
from db.sql_log import SqlLog
from server import problems
from server.gate import Gate
from server.routes import catalogue, events, health, jobs, records, schedules, worker
from server.schemas import ProblemOut
from server.services.reaper import Reaper
from server.services.service import Service
from server.services.waiting import Changes
from server.settings import Settings
from tuner.codegen.kernel import GENERATOR

ROUTERS = tuple(
    part.router for part in (jobs, events, schedules, catalogue, records, worker, health)
)
_REFUSED: dict[int | str, dict[str, Any]] = {
    "4XX": {
        "description": "the request is refused",
        "content": {problems.MEDIA_TYPE: {"schema": ProblemOut.model_json_schema()}},
    }
}
#: On SIGTERM open streams and waiting claims are cut after this long; both can be taken up again.
SHUTDOWN_S = 2


def create_app(settings: Settings, clock: Clock | None = None) -> FastAPI:
    """The application; it opens the database when it starts, and goes by its clock unless given
    another."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        database = db.open(settings.database_url, db.Role.SERVER)
        app.state.service = service = _service(database, settings, clock or database.now)
        work = (service.changes.watch(), service.reaper.run())
        beside = [asyncio.create_task(task) for task in work]
        try:
            yield
        finally:
            for task in beside:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            database.close()

    app = FastAPI(
        title="Tilewright",
        version="1",
        summary="Auto-tuning schedule search for tensor programs",
        lifespan=lifespan,
        responses=_REFUSED,
        # The documentation pages would load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        middleware=[Middleware(Gate, hosts=settings.hosts, max_body_bytes=settings.max_body_bytes)],
    )
    problems.install(app)
    for router in ROUTERS:
        app.include_router(router)
    return app


def _service(database: Database, settings: Settings, clock: Clock) -> Service:
    return Service(
        database=database,
        log=SqlLog(database, clock),
        settings=settings,
        clock=clock,
        changes=Changes(database, settings.tick_s),
        reaper=Reaper(database, clock, settings.reap_s),
        generator=GENERATOR,
    )


def run(settings: Settings) -> None:
    """Serves until SIGTERM or SIGINT."""
    uvicorn.run(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        log_level="warning",
        timeout_graceful_shutdown=SHUTDOWN_S,
        server_header=False,
    )
