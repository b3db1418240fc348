"""Work in a thread that a background task waits for, also when it is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

_T = TypeVar("_T")


async def in_thread(work: Callable[[], _T]) -> _T:
    """`work()`. A cancelled caller goes on once it has returned: nothing uses the database then."""
    running = asyncio.ensure_future(run_in_threadpool(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        with suppress(Exception):
            await running
        raise
