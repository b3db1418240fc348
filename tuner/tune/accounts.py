"""Where a job's seconds go.

The loop's own accounts do not overlap: what is booked inside another account counts only there.
Those of the workers are sums over measurements; they overlap with the loop's and with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from tuner.record import Record

#: Spaces, candidates and the texts of winners; fitting; waiting for results; log and queue.
LOOP = ("search", "model", "waiting", "database")
#: Building, checking and timing candidates, play-offs included.
WORKERS = ("build", "check", "timing")

_T = TypeVar("_T")


class Accounts:
    """Seconds by account."""

    def __init__(self, clock: Callable[[], float], spent: Mapping[str, float]) -> None:
        """`spent` is what earlier lives of the job booked; of it the loop's accounts go on."""
        self._clock = clock
        self._seconds = {name: spent.get(name, 0.0) for name in LOOP}
        self._seconds |= dict.fromkeys(WORKERS, 0.0)
        self._open: list[str] = []
        self._since = clock()
        self._counted: set[str] = set()

    @contextmanager
    def on(self, name: str) -> Iterator[None]:
        """Books what passes inside under `name`."""
        self._settle()
        self._open.append(name)
        try:
            yield
        finally:
            self._settle()
            self._open.pop()

    def booked(self, thing: _T, rest: str, **named: str) -> _T:
        """`thing`, with the time in each of its methods booked: `named` tells the account of some,
        `rest` that of all others."""
        return cast(_T, _Booked(thing, self, rest, named))

    def measured(self, record: Record) -> None:
        """Books what the workers spent on a trial; the same trial once."""
        if record.id not in self._counted:
            self._counted.add(record.id)
            took = record.measurement
            self._seconds["build"] += took.build_s
            self._seconds["check"] += took.check_s
            self._seconds["timing"] += took.timing_s

    def seconds(self) -> dict[str, float]:
        """So far."""
        self._settle()
        return dict(self._seconds)

    def _settle(self) -> None:
        now = self._clock()
        if self._open:
            self._seconds[self._open[-1]] += now - self._since
        self._since = now


class _Booked:
    """Stands for a thing and keeps the time of its methods."""

    def __init__(
        self, thing: object, accounts: Accounts, rest: str, named: Mapping[str, str]
    ) -> None:
        self._thing, self._accounts, self._rest, self._named = thing, accounts, rest, named

    def __getattr__(self, method: str) -> Callable[..., Any]:
        call, name = getattr(self._thing, method), self._named.get(method, self._rest)

        def kept(*args: Any, **others: Any) -> Any:
            with self._accounts.on(name):
                return call(*args, **others)

        return kept
