"""One measurement at a time on this host, whoever measures."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from workers.errors import Stopped
from workers.sandbox import never

#: Seconds between two looks at a lock that another holds.
POLL_S = 0.002


class HostLock:
    """A lock file in the shared cache folder. The kernel frees it when its holder dies."""

    def __init__(self, cache: Path) -> None:
        self._path = cache / "measuring.lock"

    @contextmanager
    def held(self, stop: Callable[[], bool] = never) -> Iterator[None]:
        """Hold the lock. Raises Stopped where `stop()` says so while waiting."""
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if stop():
                        raise Stopped("stopped while another worker measured") from None
                    time.sleep(POLL_S)
            yield
        finally:
            os.close(handle)
