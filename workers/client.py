"""The worker's side of the REST protocol: four calls, typed errors, retries with jitter."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from tuner.record import Measurement, Peaks, Purpose, Timing
from workers.errors import (
    ServiceError,
    StaleLease,
    Unauthorized,
    UnknownWorker,
    Unreachable,
    WrongVersion,
)

log = logging.getLogger(__name__)
T = TypeVar("T")

#: Seconds for one answer, beyond what the service says that it may hold a claim.
ANSWER_S = 15.0
#: Back-off between tries: each waits a random part of the doubled last, up to the cap.
FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 5.0
_BY_STATUS: dict[int, type[ServiceError]] = {
    401: Unauthorized, 403: Unauthorized, 404: UnknownWorker, 408: Unreachable, 409: StaleLease,
    410: UnknownWorker, 425: Unreachable, 426: WrongVersion, 429: Unreachable,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Enrolment:
    """What the service answers to a new worker; seconds."""

    worker_id: str
    lease_s: float
    beat_s: float
    poll_s: float


@dataclass(frozen=True, slots=True)
class Item:
    """One candidate of a grant: its id and its schedule's JSON form."""

    candidate: str
    steps: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Grant:
    """Leased candidates: all of one workload, target and purpose."""

    lease_id: str
    fence: int
    workload: str
    #: canonical program text
    program: str
    target: str
    purpose: Purpose
    timing: Timing
    peaks_wanted: bool
    items: tuple[Item, ...]

    @staticmethod
    def from_json(data: dict[str, Any]) -> Grant:
        """Raises KeyError, TypeError or ValueError on another form."""
        return Grant(
            lease_id=data["lease_id"], fence=data["fence"], workload=data["workload"],
            program=data["program"], target=data["target"], purpose=Purpose(data["purpose"]),
            timing=Timing(**data["timing"]), peaks_wanted=data["peaks_wanted"],
            items=tuple(Item(i["candidate"], i["steps"]) for i in data["items"]),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Beat:
    """The service's answer to a heartbeat."""

    cancel: tuple[str, ...]
    lost: tuple[str, ...]
    drain: bool


class Client:
    """Speaks to one service with one token. Threads may share it; each call is one request."""

    def __init__(self, url: str, token: str) -> None:
        """Raises ServiceError where `url` is none."""
        headers = {"Authorization": f"Bearer {token}"}
        try:
            self._http = httpx.Client(base_url=url, headers=headers, timeout=ANSWER_S)
        except httpx.InvalidURL as error:
            raise ServiceError(f"{url!r} is no URL: {error}") from error
        if self._http.base_url.scheme not in ("http", "https") or not self._http.base_url.host:
            raise ServiceError(f"{url!r} is no URL of a service, like http://127.0.0.1:8765")

    def close(self) -> None:
        self._http.close()

    def enrol(self, introduction: dict[str, Any]) -> Enrolment:
        data = self._post("enrol", introduction)
        return self._shaped(
            lambda: Enrolment(data["worker_id"], data["lease_s"], data["beat_s"], data["poll_s"])
        )

    def claim(
        self, worker_id: str, claim_id: str, targets: Sequence[str], max_items: int, poll_s: float
    ) -> Grant | None:
        """None where there was nothing to do. The same `claim_id` gives the same grant again."""
        body = {
            "worker_id": worker_id, "claim_id": claim_id, "targets": list(targets),
            "max_items": max_items,
        }  # fmt: skip
        data = self._post("claims", body, poll_s + ANSWER_S)
        return self._shaped(lambda: Grant.from_json(data)) if data else None

    def beat(self, worker_id: str, leases: Sequence[str]) -> Beat:
        data = self._post("heartbeats", {"worker_id": worker_id, "leases": list(leases)})
        return self._shaped(
            lambda: Beat(tuple(data["cancel"]), tuple(data["lost"]), bool(data["drain"]))
        )

    def report(
        self, worker_id: str, grant: Grant, results: dict[str, Measurement], peaks: Peaks | None
    ) -> None:
        """Hand in `results`, by candidate. Handing them in twice is harmless."""
        body = {
            "worker_id": worker_id, "lease_id": grant.lease_id, "fence": grant.fence,
            "results": [
                {"candidate": key, "measurement": m.to_json()} for key, m in results.items()
            ],
            "peaks": None if peaks is None else {
                "flops_per_s": peaks.flops_per_s, "copy_bytes_per_s": peaks.copy_bytes_per_s,
            },
        }  # fmt: skip
        self._post("results", body)

    def _post(self, what: str, body: dict[str, Any], timeout_s: float = ANSWER_S) -> dict[str, Any]:
        try:
            answer = self._http.post(f"/v1/worker/{what}", json=body, timeout=timeout_s)
        except httpx.HTTPError as error:
            raise Unreachable(f"{self._http.base_url}: {error or type(error).__name__}") from error
        if answer.is_success:
            return self._shaped(lambda: answer.json() if answer.content else {})
        otherwise = Unreachable if answer.status_code >= 500 else ServiceError
        kind = _BY_STATUS.get(answer.status_code, otherwise)
        raise kind(f"{what}: {answer.status_code} {_detail(answer)}")

    @staticmethod
    def _shaped(read: Callable[[], T]) -> T:
        try:
            return read()
        except (KeyError, TypeError, ValueError) as error:
            raise ServiceError(f"an answer of another form: {error!r}") from error


def _detail(answer: httpx.Response) -> str:
    """The problem's own words, where it is problem+json."""
    try:
        problem = answer.json()
        return str(problem.get("detail") or problem.get("title") or problem)
    except (ValueError, AttributeError):
        return answer.text[:500]


def retrying(call: Callable[[], T], stop: threading.Event, limit_s: float | None = None) -> T:
    """`call()`, tried again while it is Unreachable, until `stop` or for `limit_s` seconds.

    Raises what the last try raised.
    """
    give_up = None if limit_s is None else time.monotonic() + limit_s
    longest = FIRST_WAIT_S
    while True:
        try:
            return call()
        except Unreachable as error:
            if stop.is_set() or (give_up is not None and time.monotonic() >= give_up):
                raise
            log.warning("%s; trying again", error)
        stop.wait(random.uniform(0, longest))
        longest = min(2 * longest, LONGEST_WAIT_S)
