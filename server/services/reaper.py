"""Ends what is overdue: leases that nobody renewed, jobs that no machine came for."""

from __future__ import annotations

import asyncio
import logging

from sqlalchemy.exc import SQLAlchemyError

from db import jobs, leases
from db.clock import Clock
from db.engine import Database
from db.errors import DatabaseUnavailable
from server.services.threads import in_thread

_log = logging.getLogger(__name__)


class Reaper:
    """One pass every `every_s` seconds. It is not a job of the queue that it looks after."""

    def __init__(self, database: Database, clock: Clock, every_s: float) -> None:
        self._database, self._clock, self._every_s = database, clock, every_s
        #: when the last pass ended well
        self.last_pass = clock()

    async def run(self) -> None:
        """Passes until it is cancelled; one that fails is logged, and the next one tries again."""
        while True:
            try:
                await in_thread(self.once)
            except (SQLAlchemyError, DatabaseUnavailable):
                _log.exception("a pass over overdue leases failed")
            await asyncio.sleep(self._every_s)

    def once(self) -> None:
        """One pass, in one transaction."""
        now = self._clock()
        with self._database.write() as session:
            leases.reap(session, now)
            jobs.end_overdue(session, now)
        self.last_pass = self._clock()
