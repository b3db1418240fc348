"""Client and AsyncClient against a service in memory: the same answers, waited for or awaited."""

import asyncio
import hashlib
import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import numpy as np
import pytest

import tilewright as tw
from tests.cli.service import HASH, Service, best, job, problem
from tests.codegen.native import targets_here
from tests.conftest import require
from tilewright import clients, operations
from tilewright.clients import Operation
from tuner.codegen.kernel import generate
from tuner.frontends.text import parse
from tuner.ir.canonical import canonicalize

URL, TOKEN = "http://service.test", "secret"
TEXT = "def f(x: f32[4], y: f32[4]):\n    for i in range(4):\n        y[i] = x[i] + 1.0\n"


def _blocking(service: Service, call: Callable[[Any], Any]) -> Any:
    with tw.Client(URL, TOKEN, service.transport) as client:
        return call(client)


def _awaited(service: Service, call: Callable[[Any], Any]) -> Any:
    async def run() -> Any:
        async with tw.AsyncClient(URL, TOKEN, service.transport) as client:
            return await call(client)

    return asyncio.run(run())


both = pytest.mark.parametrize("ask", [_blocking, _awaited])


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.client.time.sleep", lambda _: None)
    monkeypatch.setattr(operations, "LOOK_S", 0.0)
    monkeypatch.setattr("tilewright.exchange.REPEAT_S", 0.0)


@both
def test_a_job_is_submitted(ask) -> None:
    service = Service({"POST /v1/jobs": job("queued")})
    found = ask(
        service, lambda c: c.submit(tw.op("matmul", m=4, n=4, k=4), TEXT, trials=9, seconds=5.0)
    )
    assert service.body() == {
        "workloads": [
            {"op": "matmul", "sizes": {"m": 4, "n": 4, "k": 4}, "dtype": "f32"}, {"program": TEXT},
        ],
        "budget": {"trials": 9, "seconds": 5.0}, "strategy": "evolutionary", "seed": 0,
        "more": False,
        "priority": 0,
    }  # fmt: skip
    assert (found.id, found.state, found.ended) == ("j-1", "queued", False)
    assert found.created_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert found.trials.failed == 1
    assert found.workloads[0].failures == {"compile_error": 1}


@both
def test_the_best_are_asked_for_by_hash_and_by_description(ask) -> None:
    answer = {"workload": HASH, "items": [best()]}
    service = Service({"GET /v1/schedules/best": answer, "POST /v1/schedules/best": answer})
    found = ask(service, lambda c: c.best(HASH, k=2))
    assert service.requests[-1].url.params["k"] == "2"
    assert found == ask(service, lambda c: c.best(TEXT, target="cpu-avx2-1t"))
    assert service.body() == {"program": TEXT, "target": "cpu-avx2-1t", "k": 1}
    assert found.items[0].ci_s == (0.00388, 0.00395)


@both
def test_a_job_is_waited_for_over_a_restart_of_the_service(ask) -> None:
    def looks(request: httpx.Request) -> Any:
        if len(service.requests) == 2:
            raise httpx.ConnectError("gone", request=request)
        return job("running" if len(service.requests) < 4 else "done")

    service = Service({"GET /v1/jobs/j-1": looks})
    assert ask(service, lambda c: c.wait("j-1")).state == "done"
    assert len(service.requests) == 4


@both
def test_a_waiter_s_patience_ends(ask) -> None:
    service = Service({"GET /v1/jobs/j-1": job("running")})
    with pytest.raises(tw.WaitTimeout, match="job j-1 has not ended within 0 s; it goes on"):
        ask(service, lambda c: c.wait("j-1", timeout_s=0))


@both
def test_a_refusal_is_an_error_with_its_status(ask) -> None:
    service = Service({"GET /v1/jobs/x": problem(404, "no job x")})
    with pytest.raises(tw.ServiceError, match=r"^no job x$") as caught:
        ask(service, lambda c: c.wait("x"))
    assert caught.value.status == 404


@both
def test_a_request_lost_on_its_way_is_repeated_under_the_same_key(ask) -> None:
    def lost_at_first(request: httpx.Request) -> Any:
        if len(service.requests) == 1:
            raise httpx.ReadError("lost", request=request)
        return job("cancelled")

    service = Service({"POST /v1/jobs/j-1/cancel": lost_at_first})
    assert ask(service, lambda c: c.cancel("j-1")).state == "cancelled"
    keys = {request.headers["idempotency-key"] for request in service.requests}
    assert (len(service.requests), len(keys)) == (2, 1)


@both
def test_an_answer_of_another_form_is_told_apart(ask) -> None:
    service = Service({"GET /v1/jobs/j-1": job(state=3)})
    with pytest.raises(tw.ServiceError, match=r"no Job as this version knows it .*3 is no str"):
        ask(service, lambda c: c.job("j-1"))
    service = Service({"GET /v1/jobs/j-1": {"id": "j-1"}})
    with pytest.raises(tw.ServiceError, match=r"no Job .*KeyError: 'state'"):
        ask(service, lambda c: c.job("j-1"))


def _tuned(schedule_sha: str = "") -> tuple[Service, str]:
    source = generate(canonicalize(parse(TEXT))[0], (), targets_here()[0]).text
    sha = schedule_sha or hashlib.sha256(source.encode()).hexdigest()
    ended = job()
    ended["workloads"][0]["best"] = best(source_sha256=sha)
    service = Service(
        {
            "POST /v1/jobs": job("queued"), "GET /v1/jobs/j-1": ended,
            "POST /v1/schedules/best": {"workload": HASH, "items": [best(source_sha256=sha)]},
            "GET /v1/schedules/s-1/source": source,
        }
    )  # fmt: skip
    return service, source


@both
@pytest.mark.parametrize("call", [lambda c: c.tune(TEXT, trials=2), lambda c: c.kernel(TEXT)])
def test_a_tuned_program_is_a_callable(ask, call) -> None:
    require("gcc", "clang", "cc")
    service, source = _tuned()
    kernel = ask(service, call)
    assert kernel.source == source
    assert kernel(x=np.arange(4, dtype="f4")).tolist() == [1, 2, 3, 4]


@both
def test_a_source_that_was_not_measured_is_not_loaded(ask) -> None:
    with pytest.raises(tw.ServiceError, match="s-1 is not the text that was measured"):
        ask(_tuned("f" * 64)[0], lambda c: c.tune(TEXT))


@both
def test_a_job_without_a_schedule_says_why(ask) -> None:
    failed = job("failed")
    failed["workloads"][0]["reason"] = "no candidate passed\nat length"
    service = Service({"POST /v1/jobs": job("queued"), "GET /v1/jobs/j-1": failed})
    message = r"^job j-1 has no verified schedule: no candidate passed \(1 compile_error\)$"
    with pytest.raises(tw.TuningFailed, match=message):
        ask(service, lambda c: c.tune(TEXT))


@both
def test_what_was_never_tuned_has_no_kernel(ask) -> None:
    service = Service({"POST /v1/schedules/best": {"workload": HASH, "items": []}})
    with pytest.raises(tw.TuningFailed, match="no verified schedule is known yet"):
        ask(service, lambda c: c.kernel(TEXT))


def test_a_program_tunes_itself_with_the_client_that_it_is_given() -> None:
    require("gcc", "clang", "cc")
    service, _ = _tuned()

    @tw.program
    def f(x: tw.f32[4], y: tw.f32[4]):
        for i in range(4):
            y[i] = x[i] + 1.0

    with tw.Client(URL, TOKEN, service.transport) as client:
        assert f.tune(client=client, trials=2)(np.zeros(4, "f4")).tolist() == [1, 1, 1, 1]
        assert f.kernel(client=client).inputs[0].name == "x"
    assert service.body(0)["workloads"] == [{"program": f.text}]
    assert service.body(0)["budget"] == {"trials": 2}


STREAM = 'id: 7\nevent: trial\ndata: {"done": 1}\n\nid: 8\nevent: done\ndata: {}\n\n'
EVENTS = [tw.Event(7, "trial", {"done": 1}), tw.Event(8, "done", {})]


def test_events_come_as_they_happen() -> None:
    service = Service({"GET /v1/jobs/j-1/events": STREAM})
    with tw.Client(URL, TOKEN, service.transport) as client:
        assert list(client.events("j-1", after=6)) == EVENTS
    assert service.requests[0].headers["last-event-id"] == "6"


def test_events_come_to_asyncio_too() -> None:
    service = Service(
        {"GET /v1/jobs/j-1/events": STREAM, "GET /v1/jobs/x/events": problem(404, "")}
    )

    async def collect(id: str) -> list[tw.Event]:
        async with tw.AsyncClient(URL, TOKEN, service.transport) as client:
            return [event async for event in client.events(id)]

    assert asyncio.run(collect("j-1")) == EVENTS
    with pytest.raises(tw.ServiceError, match="Refused"):
        asyncio.run(collect("x"))


def test_every_operation_is_a_method_of_both_clients() -> None:
    flows = {
        name for name, value in vars(operations).items()
        if inspect.isgeneratorfunction(value) and not name.startswith("_")
    }  # fmt: skip
    methods = {
        name for name, value in vars(clients._Surface).items() if isinstance(value, Operation)
    }
    assert methods == flows | {"tune", "kernel"}
    for client in (tw.Client, tw.AsyncClient):
        assert all(getattr(client, name).__doc__ for name in methods)
        assert list(inspect.signature(client.best).parameters) == ["workload", "target", "k"]


def test_a_client_finds_its_service_as_the_command_line_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TILEWRIGHT_URL", "http://elsewhere.test/")
    monkeypatch.setenv("TILEWRIGHT_TOKEN", "other")
    service = Service({"GET /v1/ops": {"items": []}})
    with tw.Client(transport=service.transport) as client:
        assert client.ops() == ()
    with tw.Client(URL, transport=service.transport) as client:
        client.ops()
    sent = [(str(r.url.host), r.headers["authorization"]) for r in service.requests]
    assert sent == [("elsewhere.test", "Bearer other"), ("service.test", "Bearer other")]
