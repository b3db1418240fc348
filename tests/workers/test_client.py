"""Typed errors, and retries that end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.workers.fake_server import TOKEN, FakeService, serving
from workers.client import Client, retrying
from workers.errors import (
    ServiceError,
    StaleLease,
    Unauthorized,
    UnknownWorker,
    Unreachable,
    WrongVersion,
)


@pytest.fixture
def service() -> Iterator[FakeService]:
    with serving(FakeService()) as serves:
        yield serves


@pytest.fixture
def client(service: FakeService) -> Iterator[Client]:
    made = Client(service.url, TOKEN)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, Unauthorized), (403, Unauthorized), (404, UnknownWorker), (409, StaleLease),
        (410, UnknownWorker), (422, ServiceError), (426, WrongVersion), (429, Unreachable),
        (500, Unreachable), (503, Unreachable),
    ],
)  # fmt: skip
def test_answers_are_typed(
    service: FakeService, client: Client, status: int, error: type[ServiceError]
) -> None:
    service.refuse = {"heartbeats": [(status, {"title": "no", "detail": "for this reason"})]}
    with pytest.raises(error, match=f"heartbeats: {status} for this reason") as caught:
        client.beat("w1", [])
    assert caught.type is error


def test_a_wrong_token(service: FakeService) -> None:
    client = Client(service.url, "guess")
    with closing(client), pytest.raises(Unauthorized, match="no such token"):
        client.beat("w1", [])


@pytest.mark.parametrize("body", [{}, {"cancel": 3}, {"cancel": [], "lost": []}])
def test_an_answer_of_another_form(
    service: FakeService, client: Client, body: dict[str, object]
) -> None:
    service.refuse = {"heartbeats": [(200, body)]}
    with pytest.raises(ServiceError, match="another form"):
        client.beat("w1", [])


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    client = Client(f"http://127.0.0.1:{port}", TOKEN)
    with closing(client), pytest.raises(Unreachable):
        client.beat("w1", [])


@pytest.mark.parametrize("url", ["127.0.0.1:1", "ftp://host", "", "http://", "http://a:b"])
def test_what_is_no_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(ServiceError, match="is no URL"):
        Client(url, TOKEN)


def failing(times: int, error: Exception, answer: int = 5) -> tuple[list[int], object]:
    """A counter of calls, and a call that fails this often."""
    calls: list[int] = []

    def call() -> int:
        calls.append(1)
        if len(calls) <= times:
            raise error
        return answer

    return calls, call


class NoWait(threading.Event):
    """An event whose waits take no time."""

    def wait(self, timeout: float | None = None) -> bool:
        self.waited = [*getattr(self, "waited", []), timeout]
        return self.is_set()


def test_retries_back_off_with_jitter() -> None:
    stop = NoWait()
    calls, call = failing(12, Unreachable("away"))
    assert retrying(call, stop) == 5  # type: ignore[arg-type]
    assert len(calls) == 13
    assert all(0 <= wait <= 5 for wait in stop.waited)
    assert len(set(stop.waited)) > 1


def test_only_unreachable_is_tried_again() -> None:
    calls, call = failing(1, StaleLease("gone"))
    with pytest.raises(StaleLease):
        retrying(call, NoWait())  # type: ignore[arg-type]
    assert len(calls) == 1


def test_retries_end() -> None:
    stopped = NoWait()
    stopped.set()
    for stop, limit_s in ((stopped, None), (NoWait(), 0.0)):
        calls, call = failing(3, Unreachable("away"))
        with pytest.raises(Unreachable):
            retrying(call, stop, limit_s)  # type: ignore[arg-type]
        assert len(calls) == 1
