import httpx
import pytest

from tests.cli.service import Service, problem
from tilewright.client import Event, HttpClient, ServiceError, parse_events
from tilewright.connection import Connection

HERE = Connection("http://service.test/", "secret")


def _unreachable(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("connection refused", request=request)


def test_token_and_query_are_sent() -> None:
    service = Service({"GET /v1/jobs": {"items": []}})
    with HttpClient(HERE, service.transport) as client:
        assert client.get("/v1/jobs", state=None, limit=3) == {"items": []}
    assert service.requests[0].headers["authorization"] == "Bearer secret"
    assert service.requests[0].url.query == b"limit=3"


def test_a_refusal_is_its_detail() -> None:
    service = Service({"GET /v1/jobs/x": problem(404, "no job x")})
    with (
        HttpClient(HERE, service.transport) as client,
        pytest.raises(ServiceError, match=r"^no job x$") as caught,
    ):
        client.get("/v1/jobs/x")
    assert caught.value.status == 404


def test_a_refusal_without_problem_names_address_and_status() -> None:
    service = Service({"GET /v1/jobs": httpx.Response(502, text="<html>")})
    with HttpClient(HERE, service.transport) as client, pytest.raises(ServiceError, match="502"):
        client.get("/v1/jobs")


def test_another_server_is_told_apart() -> None:
    service = Service({"GET /v1/jobs": "<html>hello</html>"})
    with (
        HttpClient(HERE, service.transport) as client,
        pytest.raises(ServiceError, match="does not answer as Tilewright does"),
    ):
        client.get("/v1/jobs")


def test_a_request_lost_on_its_way_is_repeated_under_the_same_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tilewright.client.time.sleep", lambda _: None)

    def lost_at_first(request: httpx.Request) -> dict[str, str]:
        if len(service.requests) == 1:
            _unreachable(request)
        return {"id": "j-1"}

    service = Service({"POST /v1/jobs": lost_at_first})
    with HttpClient(HERE, service.transport) as client:
        assert client.post("/v1/jobs", {"a": 1}) == {"id": "j-1"}
    keys = [request.headers["idempotency-key"] for request in service.requests]
    assert len(keys) == 2
    assert keys[0] == keys[1]


def test_a_service_that_is_not_there_says_what_to_start() -> None:
    service = Service({"GET /v1/jobs": _unreachable})
    with (
        HttpClient(HERE, service.transport) as client,
        pytest.raises(ServiceError, match=r"cannot reach http://service\.test.*`tilewright up`"),
    ):
        client.get("/v1/jobs")


def test_pages_are_followed_up_to_the_limit() -> None:
    def page(request: httpx.Request) -> dict[str, object]:
        start = int(request.url.params.get("cursor", 0))
        return {"items": [{"id": start}, {"id": start + 1}], "next": str(start + 2)}

    service = Service({"GET /v1/records": page})
    with HttpClient(HERE, service.transport) as client:
        assert [item["id"] for item in client.pages("/v1/records", 5)] == [0, 1, 2, 3, 4]
    assert len(service.requests) == 3


def test_events_are_read_and_resumed() -> None:
    text = ': hello\n\nid: 7\nevent: trial\ndata: {"done": 1}\n\nid: 8\nevent: done\ndata: {}\n\n'
    service = Service({"GET /v1/jobs/j-1/events": text})
    with HttpClient(HERE, service.transport) as client:
        events = list(client.events("/v1/jobs/j-1/events", after=6))
    assert events == [Event(7, "trial", {"done": 1}), Event(8, "done", {})]
    assert service.requests[0].headers["last-event-id"] == "6"


def test_event_data_over_several_lines_is_one() -> None:
    assert list(parse_events(iter(['data:{"a":', "data: 1}", ""]))) == [
        Event(0, "message", {"a": 1})
    ]
