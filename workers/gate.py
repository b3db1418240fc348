"""Builds and measurements that use all cores take turns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from workers.errors import Stopped
from workers.sandbox import STOP_POLL_S


class Gate:
    """Any number of builds at a time, or one measurement, which goes first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._builds = 0
        self._measuring = False

    @contextmanager
    def building(self) -> Iterator[None]:
        """Wait until nothing measures, then build."""
        with self._changed:
            self._changed.wait_for(lambda: not self._measuring)
            self._builds += 1
        try:
            yield
        finally:
            with self._changed:
                self._builds -= 1
                self._changed.notify_all()

    @contextmanager
    def measuring(self, stop: Callable[[], bool]) -> Iterator[None]:
        """Let no more builds begin, wait for those that run, then measure. Raises Stopped where
        `stop()` says so meanwhile."""
        try:
            with self._changed:
                self._measuring = True
                while self._builds:
                    if stop():
                        raise Stopped("stopped while candidates were built")
                    self._changed.wait(STOP_POLL_S)
            yield
        finally:
            with self._changed:
                self._measuring = False
                self._changed.notify_all()
