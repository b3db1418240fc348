"""`Client` and `AsyncClient`: the service's surface, typed.

Both have the same methods, those of tilewright.operations; one waits for the answer, the other is
awaited.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Generic, ParamSpec, TypeVar, overload

import httpx

from tilewright import connection, operations, tuning
from tilewright.client import AsyncHttpClient, Event, HttpClient
from tilewright.exchange import Flow

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Operation(Generic[_P, _T]):
    """A method that both clients have: it makes a flow, and the client runs it."""

    def __init__(self, flow: Callable[_P, Flow[_T]]) -> None:
        self._flow = flow
        self.__doc__ = flow.__doc__

    @overload
    def __get__(self, client: None, owner: Any) -> Callable[_P, Flow[_T]]: ...
    @overload
    def __get__(self, client: Client, owner: Any) -> Callable[_P, _T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: Any) -> Callable[_P, Awaitable[_T]]: ...

    def __get__(self, client: Client | AsyncClient | None, owner: Any) -> Any:
        if client is None:
            return self._flow
        run, flow = client.http.run, self._flow

        @functools.wraps(flow)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> Any:
            return run(flow(*args, **kwargs))

        return call


class _Surface:
    """What can be asked, of either client."""

    submit = Operation(operations.submit)
    wait = Operation(operations.wait)
    job = Operation(operations.job)
    jobs = Operation(operations.jobs)
    cancel = Operation(operations.cancel)
    best = Operation(operations.best)
    source = Operation(operations.source)
    program = Operation(operations.program)
    ops = Operation(operations.ops)
    targets = Operation(operations.targets)
    workers = Operation(operations.workers)
    records = Operation(operations.records)
    tune = Operation(tuning.tune)
    kernel = Operation(tuning.kernel)


class Client(_Surface):
    """Speaks to one service and waits for its answers. Use as a context manager, or `close` it.

    Where the service is and with which token, if not given, is what the command line goes by: the
    environment, or what `tilewright up` wrote. Every refusal is a ServiceError.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.http = HttpClient(connection.given(url, token), transport)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    def events(self, job: str, after: int = 0) -> Iterator[Event]:
        """A job's events numbered above `after`, as they happen; ends with the job."""
        return self.http.events(f"/v1/jobs/{job}/events", after)


class AsyncClient(_Surface):
    """Client for asyncio: the same methods, awaited. Use as an asynchronous context manager."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.http = AsyncHttpClient(connection.given(url, token), transport)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self.http.close()

    def events(self, job: str, after: int = 0) -> AsyncIterator[Event]:
        """A job's events numbered above `after`, as they happen; ends with the job."""
        return self.http.events(f"/v1/jobs/{job}/events", after)
