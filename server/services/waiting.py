"""Waiting for somebody, in this process or another, to change the database.

One task looks at the database's change mark while somebody waits; those who wait hold neither a
thread nor a connection.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Hashable

from db.engine import Database
from db.errors import DatabaseUnavailable
from server.services.threads import in_thread

_log = logging.getLogger(__name__)
_NEVER = threading.Event()
#: Seconds until a database that did not answer is asked again.
_RETRY_S = 1.0


class Changes:
    """Wakes all who wait when the database has changed. Used by one event loop."""

    def __init__(self, database: Database, tick_s: float) -> None:
        self._database, self._tick_s = database, tick_s
        self._changed = asyncio.Event()
        self._waiting = 0
        self._somebody = asyncio.Event()

    def next(self) -> asyncio.Event:
        """Is set at the next change. Take it before looking, or a change may be missed."""
        return self._changed

    async def wait(self, event: asyncio.Event, timeout_s: float) -> None:
        """Until `event`, from `next`, is set; `timeout_s` at most."""
        self._waiting += 1
        self._somebody.set()
        try:
            async with asyncio.timeout(max(0.0, timeout_s)):
                await event.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting -= 1

    async def watch(self) -> None:
        """Looks until it is cancelled."""
        mark: Hashable = None
        while True:
            if not self._waiting:
                self._somebody.clear()
                await self._somebody.wait()
            await asyncio.sleep(self._tick_s)
            try:
                seen = await in_thread(self._look)
            except DatabaseUnavailable as error:
                # Whoever waits looks again when its time is up, so a miss costs time only.
                _log.warning("the database's change mark could not be read: %s", error)
                await asyncio.sleep(_RETRY_S)
                continue
            if seen != mark:
                mark = seen
                changed, self._changed = self._changed, asyncio.Event()
                changed.set()

    def _look(self) -> Hashable:
        self._database.pause(_NEVER, 0.0)
        return self._database.change_mark()
