"""The worker's standing with the service: enrolled once, again where the service forgot it."""

from __future__ import annotations

import logging
import random
import threading
import uuid
from typing import Any

from workers.client import Client, Enrolment, Grant, retrying
from workers.errors import ServiceError, UnknownWorker
from workers.leases import Heart

log = logging.getLogger(__name__)

#: Idle seconds after an empty claim: up to this, at random.
IDLE_S = 0.5


class Session:
    """Enrols and claims; both wait for a service that does not answer until `drain` is set."""

    def __init__(
        self, client: Client, introduction: dict[str, Any], drain: threading.Event
    ) -> None:
        self._client, self._introduction, self._drain = client, introduction, drain
        self._enrolment: Enrolment | None = None
        self.heart = Heart(client, drain)

    @property
    def worker_id(self) -> str:
        """The name that the service gave."""
        assert self._enrolment is not None
        return self._enrolment.worker_id

    def enrol(self) -> bool:
        """False where the drain came first. Raises ServiceError where it is refused."""
        try:
            enrolment = retrying(
                lambda: self._client.enrol(self._introduction),
                self._drain
            )  # fmt: skip
        except ServiceError:
            if self._drain.is_set():
                return False
            raise
        self._enrolment = enrolment
        self.heart.start(enrolment)
        log.info("enrolled as %s", enrolment.worker_id)
        return True

    def claim(self, max_items: int) -> Grant | None:
        """The next grant; None once draining. Raises ServiceError where claims are refused."""
        while not self._drain.is_set():
            try:
                grant = self._claim_once(max_items)
            except UnknownWorker:
                self.enrol()
                continue
            except ServiceError:
                if self._drain.is_set():
                    return None
                raise
            if grant is not None:
                return None if self._drain.is_set() else grant
            self._drain.wait(random.uniform(0, IDLE_S))
        return None

    def _claim_once(self, max_items: int) -> Grant | None:
        """A lost answer is asked for again by the same id, which gives the same grant."""
        enrolment, claim_id = self._enrolment, str(uuid.uuid4())
        assert enrolment is not None
        return retrying(
            lambda: self._client.claim(
                enrolment.worker_id, claim_id, self._introduction["targets"], max_items,
                enrolment.poll_s,
            ),
            self._drain
        )  # fmt: skip
