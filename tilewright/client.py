"""HTTP to the service: the flows of tilewright.exchange, run blocking or awaited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, TypeVar

import httpx

from tilewright import exchange
from tilewright.connection import Connection
from tilewright.exchange import (
    STREAM_SILENCE_S,
    TIMEOUT_S,
    Event,
    EventReader,
    Flow,
    Json,
    Pause,
    Query,
    Request,
    ServiceError,
    Work,
    parse_events,
    refusal,
    unreachable,
)

__all__ = ["AsyncHttpClient", "Event", "HttpClient", "Json", "ServiceError", "parse_events"]

_T = TypeVar("_T")


class HttpClient:
    """Speaks to one service. Use as a context manager."""

    def __init__(
        self, connection: Connection, transport: httpx.BaseTransport | None = None
    ) -> None:
        self.url = connection.url.rstrip("/")
        self._http = httpx.Client(
            base_url=self.url, headers=_headers(connection), timeout=TIMEOUT_S, transport=transport
        )

    def __enter__(self) -> HttpClient:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def run(self, flow: Flow[_T]) -> _T:
        """Do what a flow asks for; its answer."""
        came, error = None, None
        while True:
            try:
                step = flow.throw(error) if error else flow.send(came)
            except StopIteration as end:
                answer: _T = end.value
                return answer
            came, error = None, None
            try:
                came = self._do(step)
            except ServiceError as refused:
                error = refused

    def _do(self, step: Request | Pause | Work) -> Any:
        if isinstance(step, Pause):
            return time.sleep(step.seconds)
        if isinstance(step, Work):
            return step.call()
        try:
            response = self._http.request(**_sent(step))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise unreachable(self.url, error) from error
        return _accepted(response)

    def get(self, path: str, **query: Query) -> Json:
        """See tilewright.exchange, here and below."""
        return self.run(exchange.get(path, **query))

    def text(self, path: str) -> str:
        return self.run(exchange.text(path))

    def post(self, path: str, body: Json | None = None, **query: Query) -> Json:
        return self.run(exchange.post(path, body, **query))

    def pages(self, path: str, limit: int, **query: Query) -> list[Json]:
        return self.run(exchange.pages(path, limit, **query))

    def pieces(self, path: str, **query: Query) -> Iterator[bytes]:
        """The bytes at `path` as they come, until the server ends them."""
        asked = {name: value for name, value in query.items() if value is not None}
        try:
            with self._http.stream("GET", path, params=asked) as response:
                if response.is_error:
                    response.read()
                    raise refusal(response)
                yield from response.iter_bytes()
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error

    def upload(self, path: str, pieces: Iterable[bytes]) -> Json:
        """The JSON answer to a body that is sent piece by piece. It is not repeated."""
        try:
            response = self._http.post(path, content=pieces)
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error
        answer: Json = _accepted(response).json()
        return answer

    def events(self, path: str, after: int) -> Iterator[Event]:
        """The events at `path` numbered above `after`, until the server ends the stream."""
        try:
            with self._http.stream("GET", path, **_stream(after)) as response:
                if response.is_error:
                    response.read()
                    raise refusal(response)
                yield from parse_events(response.iter_lines())
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error


class AsyncHttpClient:
    """HttpClient for asyncio. Use as an asynchronous context manager."""

    def __init__(
        self, connection: Connection, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self.url = connection.url.rstrip("/")
        self._http = httpx.AsyncClient(
            base_url=self.url, headers=_headers(connection), timeout=TIMEOUT_S, transport=transport
        )

    async def __aenter__(self) -> AsyncHttpClient:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def run(self, flow: Flow[_T]) -> _T:
        """Do what a flow asks for; its answer. Long calls run in a thread."""
        came, error = None, None
        while True:
            try:
                step = flow.throw(error) if error else flow.send(came)
            except StopIteration as end:
                answer: _T = end.value
                return answer
            came, error = None, None
            try:
                came = await self._do(step)
            except ServiceError as refused:
                error = refused

    async def _do(self, step: Request | Pause | Work) -> Any:
        if isinstance(step, Pause):
            return await asyncio.sleep(step.seconds)
        if isinstance(step, Work):
            return await asyncio.to_thread(step.call)
        try:
            response = await self._http.request(**_sent(step))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise unreachable(self.url, error) from error
        return _accepted(response)

    async def events(self, path: str, after: int) -> AsyncIterator[Event]:
        """The events at `path` numbered above `after`, until the server ends the stream."""
        reader = EventReader()
        try:
            async with self._http.stream("GET", path, **_stream(after)) as response:
                if response.is_error:
                    await response.aread()
                    raise refusal(response)
                async for line in response.aiter_lines():
                    if (event := reader.take(line)) is not None:
                        yield event
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error


def _headers(connection: Connection) -> dict[str, str]:
    return {"Authorization": f"Bearer {connection.token}"}


def _sent(request: Request) -> dict[str, Any]:
    """A request as httpx takes it."""
    return {
        "method": request.method, "url": request.path, "params": request.query,
        "json": request.body, "headers": request.headers,
    }  # fmt: skip


def _stream(after: int) -> dict[str, Any]:
    """What an event stream is asked with."""
    return {
        "headers": {"Accept": "text/event-stream", "Last-Event-ID": str(after)},
        "timeout": httpx.Timeout(TIMEOUT_S, read=STREAM_SILENCE_S),
    }


def _accepted(response: httpx.Response) -> httpx.Response:
    """The answer. Raises ServiceError where it is a refusal."""
    if response.is_error:
        raise refusal(response)
    return response
