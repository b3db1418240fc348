"""A thin HTTP client for the command line: JSON in and out, errors as one line."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from tilewright.connection import Connection
from tuner.errors import TilewrightError

Json = dict[str, Any]

#: seconds for an answer; event streams have none but the server's own keep-alive
TIMEOUT_S = 30.0
#: seconds without a byte after which an event stream counts as broken
STREAM_SILENCE_S = 60.0


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


class HttpClient:
    """Speaks to one service. Use as a context manager."""

    def __init__(
        self, connection: Connection, transport: httpx.BaseTransport | None = None
    ) -> None:
        self.url = connection.url.rstrip("/")
        self._http = httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {connection.token}"},
            timeout=TIMEOUT_S,
            transport=transport,
        )

    def __enter__(self) -> HttpClient:
        return self

    def __exit__(self, *exception: object) -> None:
        self._http.close()

    def get(self, path: str, **query: str | int | None) -> Json:
        """The JSON object at `path`; query values of None are left out."""
        given = {key: value for key, value in query.items() if value is not None}
        return self._json(self._send("GET", path, params=given))

    def text(self, path: str) -> str:
        """The plain text at `path`."""
        return self._send("GET", path).text

    def post(self, path: str, body: Json | None = None, **query: str | int | None) -> Json:
        """The JSON answer to `body`. A request lost on its way is repeated under the same key."""
        given = {key: value for key, value in query.items() if value is not None}
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        try:
            return self._json(self._send("POST", path, params=given, json=body, headers=headers))
        except ServiceError as error:
            if error.status:
                raise
        time.sleep(1.0)
        return self._json(self._send("POST", path, params=given, json=body, headers=headers))

    def pages(self, path: str, limit: int, **query: str | int | None) -> Iterator[Json]:
        """Up to `limit` items of a list that comes in pages."""
        cursor: str | None = None
        while limit > 0:
            page = self.get(path, limit=min(limit, 100), cursor=cursor, **query)
            yield from page["items"][:limit]
            limit -= len(page["items"])
            cursor = page.get("next")
            if cursor is None or not page["items"]:
                return

    def events(self, path: str, after: int) -> Iterator[Event]:
        """The events at `path` numbered above `after`, until the server ends the stream."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        timeout = httpx.Timeout(TIMEOUT_S, read=STREAM_SILENCE_S)
        try:
            with self._http.stream("GET", path, headers=headers, timeout=timeout) as response:
                if response.is_error:
                    response.read()
                    raise _refusal(response)
                yield from parse_events(response.iter_lines())
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            response = self._http.request(method, path, **options)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._unreachable(error) from error
        if response.is_error:
            raise _refusal(response)
        return response

    def _json(self, response: httpx.Response) -> Json:
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise ServiceError(f"{self.url} does not answer as Tilewright does: check the address")
        return answer

    def _unreachable(self, error: Exception) -> ServiceError:
        return ServiceError(
            f"cannot reach {self.url}: {error or type(error).__name__}; "
            "is it running? `tilewright up` starts one, TILEWRIGHT_URL names another"
        )


def _refusal(response: httpx.Response) -> ServiceError:
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


def parse_events(lines: Iterator[str]) -> Iterator[Event]:
    """Server-sent events out of the lines of their stream; comments are skipped."""
    number, kind, data = 0, "message", ""
    for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if line == "":
            if data:
                yield Event(number, kind, json.loads(data))
            kind, data = "message", ""
        elif name == "id":
            number = int(value)
        elif name == "event":
            kind = value
        elif name == "data":
            data += value
