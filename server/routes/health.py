"""Whether the server lives, and whether it can work. Both need no token."""

from __future__ import annotations

from fastapi import APIRouter

from db.errors import DatabaseUnavailable
from db.migrate import require_current
from server.problems import Problem
from server.schemas import Health
from server.services.service import ServiceOf
from tuner.errors import LogError

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> Health:
    """The process answers; touches nothing else."""
    return Health(status="ok")


@router.get("/readyz")
def readyz(service: ServiceOf) -> Health:
    """The database answers and has this version's schema, and overdue leases are looked after."""
    try:
        require_current(service.database)
    except DatabaseUnavailable:
        raise
    except LogError as error:
        raise Problem("not-ready", 503, "the database has another version's schema") from error
    late = service.clock() - service.reaper.last_pass
    if late > 10 * service.settings.reap_s:
        raise Problem("not-ready", 503, f"overdue leases were not looked at for {late:.0f} s")
    return Health(status="ready")
