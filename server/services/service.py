"""What the routes share: the database, the settings, the clock, and waiting for a change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from db.clock import Clock
from db.engine import Database
from db.sql_log import SqlLog
from server.services.reaper import Reaper
from server.services.waiting import Changes
from server.settings import Settings


@dataclass(frozen=True, slots=True)
class Service:
    """One running server."""

    database: Database
    log: SqlLog
    settings: Settings
    clock: Clock
    changes: Changes
    reaper: Reaper
    #: tuner.codegen's, which every worker has to share
    generator: str


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


ServiceOf = Annotated[Service, Depends(_service)]
