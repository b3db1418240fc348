"""What is said to the service and how its answers are read, without any I/O.

A flow is a generator: it yields what has to be done (a Request, a Pause, Work) and is sent what
came of it; its return value is the answer. tilewright.client runs flows, blocking or awaited.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from tuner.errors import TilewrightError

Json = dict[str, Any]
Query = str | int | None
_T = TypeVar("_T")

#: seconds for an answer; event streams have none but the server's own keep-alive
TIMEOUT_S = 30.0
#: seconds without a byte after which an event stream counts as broken
STREAM_SILENCE_S = 60.0
#: seconds before a request that got lost is repeated
REPEAT_S = 1.0
#: entries asked for at once
PAGE = 100


class ServiceError(TilewrightError):
    """The service refused, or cannot be reached. `status` is 0 where there was no answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        self.status = status
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a job's stream."""

    number: int
    kind: str
    data: Json


@dataclass(frozen=True, slots=True)
class Request:
    """A request to send; an httpx.Response comes back, or ServiceError is thrown."""

    method: str
    path: str
    query: dict[str, str | int] = field(default_factory=dict)
    body: Json | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pause:
    """Time to let pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Work:
    """A call that takes a while, such as a compiler's; what it returns comes back."""

    call: Callable[[], Any]


Flow = Generator[Request | Pause | Work, Any, _T]


def get(path: str, **query: Query) -> Flow[Json]:
    """The JSON object at `path`; query values of None are left out."""
    return _object((yield Request("GET", path, _given(query))))


def text(path: str) -> Flow[str]:
    """The plain text at `path`."""
    response: httpx.Response = yield Request("GET", path)
    return response.text


def post(path: str, body: Json | None = None, **query: Query) -> Flow[Json]:
    """The JSON answer to `body`. A request lost on its way is repeated under the same key."""
    key = {"Idempotency-Key": uuid.uuid4().hex}
    request = Request("POST", path, _given(query), body, key)
    try:
        response = yield request
    except ServiceError as error:
        if error.status:
            raise
        yield Pause(REPEAT_S)
        response = yield request
    return _object(response)


def pages(path: str, limit: int, **query: Query) -> Flow[list[Json]]:
    """Up to `limit` entries of a list that comes in pages."""
    found: list[Json] = []
    cursor: str | None = None
    while len(found) < limit:
        asked = min(limit - len(found), PAGE)
        one = yield from get(path, limit=asked, cursor=cursor, **query)
        found += one["items"][: limit - len(found)]
        cursor = one.get("next")
        if cursor is None or not one["items"]:
            break
    return found


def _given(query: dict[str, Query]) -> dict[str, str | int]:
    return {key: value for key, value in query.items() if value is not None}


def _object(response: httpx.Response) -> Json:
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        host = str(response.request.url.copy_with(raw_path=b"/")).rstrip("/")
        raise ServiceError(f"{host} does not answer as Tilewright does: check the address")
    return answer


def unreachable(url: str, error: Exception) -> ServiceError:
    """What to say where no answer came."""
    return ServiceError(
        f"cannot reach {url}: {error or type(error).__name__}; "
        "is it running? `tilewright up` starts one, TILEWRIGHT_URL names another"
    )


def refusal(response: httpx.Response) -> ServiceError:
    """The error in a problem+json answer, or the best that can be said of another."""
    try:
        problem = response.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        return ServiceError(
            f"{response.request.url}: {response.status_code} {response.reason_phrase}",
            response.status_code,
        )
    message = str(problem.get("detail") or problem.get("title") or response.reason_phrase)
    return ServiceError(message, response.status_code)


class EventReader:
    """Puts server-sent events together out of the lines of their stream; comments are skipped."""

    def __init__(self) -> None:
        self._number, self._kind, self._data = 0, "message", ""

    def take(self, line: str) -> Event | None:
        """The event that `line` completes, if it does."""
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        event = None
        if line == "":
            if self._data:
                event = Event(self._number, self._kind, json.loads(self._data))
            self._kind, self._data = "message", ""
        elif name == "id":
            self._number = int(value)
        elif name == "event":
            self._kind = value
        elif name == "data":
            self._data += value
        return event


def parse_events(lines: Iterable[str]) -> Iterator[Event]:
    """The events in the lines of a stream."""
    reader = EventReader()
    for line in lines:
        if (event := reader.take(line)) is not None:
            yield event
