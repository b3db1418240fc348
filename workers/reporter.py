"""Hands results in as they come, in small batches, until the service has them."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from tuner.record import Measurement, Peaks
from workers.client import Client, retrying
from workers.errors import ServiceError
from workers.leases import Lease

log = logging.getLogger(__name__)

#: Results wait this long for others to travel with, seconds.
GATHER_S = 0.2
#: How long a batch is tried again while there is no answer.
GIVE_UP_S = 600.0


@dataclass(frozen=True, slots=True)
class _Message:
    lease: Lease
    candidate: str = ""
    measurement: Measurement | None = None
    peaks: Peaks | None = None
    #: nothing follows for this lease
    last: bool = False


class Reporter:
    """A thread with the spool of what is not handed in yet."""

    def __init__(
        self, client: Client, worker_id: Callable[[], str], let_go: Callable[[Lease], None]
    ) -> None:
        self._client, self._worker_id, self._let_go = client, worker_id, let_go
        self._spool: queue.Queue[_Message | None] = queue.Queue()
        self._give_up = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reporter", daemon=True)
        self._thread.start()

    def measured(self, lease: Lease, candidate: str, measurement: Measurement) -> None:
        self._spool.put(_Message(lease, candidate, measurement))

    def peaks(self, lease: Lease, peaks: Peaks) -> None:
        self._spool.put(_Message(lease, peaks=peaks))

    def finished(self, lease: Lease) -> None:
        """Nothing more comes for `lease`; it is let go once all is handed in."""
        self._spool.put(_Message(lease, last=True))

    def end(self, patience_s: float) -> None:
        """Hand in what is spooled, for up to `patience_s` seconds, and end."""
        self._spool.put(None)
        self._thread.join(patience_s)
        self._give_up.set()
        self._thread.join()

    def _run(self) -> None:
        ended = False
        while not ended:
            batch: list[_Message] = []
            first = self._spool.get()
            until = time.monotonic() + GATHER_S
            while first is not None:
                batch.append(first)
                wait = 0.0 if first.last else max(0.0, until - time.monotonic())
                try:
                    first = self._spool.get(timeout=wait)
                except queue.Empty:
                    break
            ended = first is None
            by_lease: dict[str, list[_Message]] = {}
            for message in batch:
                by_lease.setdefault(message.lease.grant.lease_id, []).append(message)
            for messages in by_lease.values():
                self._hand_in(messages)

    def _hand_in(self, messages: list[_Message]) -> None:
        lease = messages[0].lease
        results = {m.candidate: m.measurement for m in messages if m.measurement is not None}
        peaks = next((m.peaks for m in messages if m.peaks is not None), None)
        try:
            if results or peaks:
                retrying(
                    lambda: self._client.report(self._worker_id(), lease.grant, results, peaks),
                    self._give_up, GIVE_UP_S
                )  # fmt: skip
        except ServiceError as error:
            log.warning("%d results are not handed in: %s", len(results), error)
            lease.gone.set()
            self._let_go(lease)
        if messages[-1].last:
            self._let_go(lease)
