"""The leases that this worker holds, and the heartbeat that keeps them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from workers.client import Client, Enrolment, Grant
from workers.errors import ServiceError, UnknownWorker

log = logging.getLogger(__name__)

#: After a failed beat the next one comes this many times sooner.
HASTE = 5


@dataclass(frozen=True, slots=True)
class Lease:
    """A grant, and whether it is still this worker's."""

    grant: Grant
    #: this host's monotonic clock when it was granted
    since: float = field(default_factory=time.monotonic)
    #: set once it was cancelled, lost or given up: its run is to end, its results are not wanted
    gone: threading.Event = field(default_factory=threading.Event)


class Heart:
    """Beats from a thread of its own, at once for a new lease (the first beat confirms it).

    Fences itself: a lease for which no beat was accepted for its whole length is gone, as the
    service will have given it to others. Only this host's monotonic clock counts.
    """

    def __init__(self, client: Client, drain: threading.Event) -> None:
        self._client, self._drain = client, drain
        self._leases: dict[str, Lease] = {}
        self._changed = threading.Condition()
        self._enrolment: Enrolment | None = None
        self._accepted = time.monotonic()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="heart", daemon=True)

    def start(self, enrolment: Enrolment) -> None:
        """Beat as the service asked for; called again after another enrolment."""
        with self._changed:
            self._enrolment, self._accepted = enrolment, time.monotonic()
        if not self._thread.is_alive():
            self._thread.start()

    def hold(self, grant: Grant) -> Lease:
        lease = Lease(grant)
        with self._changed:
            self._leases[grant.lease_id] = lease
            self._changed.notify()
        return lease

    def let_go(self, lease: Lease) -> None:
        """All its results are handed in, or it is given up: beat for it no more."""
        with self._changed:
            self._leases.pop(lease.grant.lease_id, None)

    def end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        failed = False
        while True:
            with self._changed:
                assert self._enrolment is not None
                haste = HASTE if failed else 1
                # Woken early by a new lease or by the end.
                self._changed.wait(self._enrolment.beat_s / haste)
                if self._ended:
                    return
                enrolment, leases = self._enrolment, dict(self._leases)
            failed = not self._beat(enrolment, leases)

    def _beat(self, enrolment: Enrolment, leases: dict[str, Lease]) -> bool:
        sent = time.monotonic()
        try:
            answer = self._client.beat(enrolment.worker_id, list(leases))
        except UnknownWorker:
            self._lose(leases.values(), "the service does not know this worker")
            return False
        except ServiceError as error:
            log.warning("heartbeat: %s", error)
            over = time.monotonic() - enrolment.lease_s
            self._lose(
                [one for one in leases.values() if max(one.since, self._accepted) <= over],
                "no beat was accepted for a lease's length",
            )
            return False
        self._accepted = sent
        self._lose(
            (leases[i] for i in (*answer.cancel, *answer.lost) if i in leases), "cancelled or lost"
        )
        if answer.drain:
            self._drain.set()
        return True

    def _lose(self, leases: Iterable[Lease], why: str) -> None:
        for lease in leases:
            log.info("lease %s is gone: %s", lease.grant.lease_id, why)
            lease.gone.set()
            self.let_go(lease)
