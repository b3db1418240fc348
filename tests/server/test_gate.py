"""What every request passes: host, size, token, role; and errors that all look alike."""

import pytest

from server import Settings
from server.app import ROUTERS
from server.auth import Requires
from server.gate import OPEN
from tests.server.conftest import MATMUL, serving

PROBLEM = "application/problem+json"


ALL = [route for router in ROUTERS for route in router.routes]
ROUTES = [(method, route.path) for route in ALL for method in sorted(route.methods)]
CLOSED = [(method, path) for method, path in ROUTES if path not in OPEN]


def test_every_closed_route_names_the_role_it_needs():
    for route in ALL:
        roles = {
            d.call.role
            for part in route.dependant.dependencies
            for d in [part, *part.dependencies]
            if isinstance(d.call, Requires)
        }
        assert len(roles) == (0 if route.path in OPEN else 1), route.path


def test_all_routes_of_the_surface_are_there():
    assert set(ROUTES) >= {
        ("POST", "/v1/jobs"),
        ("GET", "/v1/jobs"),
        ("GET", "/v1/jobs/{id}"),
        ("GET", "/v1/jobs/{id}/events"),
        ("POST", "/v1/jobs/{id}/cancel"),
        ("GET", "/v1/schedules/best"),
        ("POST", "/v1/schedules/best"),
        ("GET", "/v1/schedules/{id}"),
        ("GET", "/v1/schedules/{id}/source"),
        ("GET", "/v1/schedules/{id}/program"),
        ("POST", "/v1/worker/enrol"),
        ("POST", "/v1/worker/claims"),
        ("POST", "/v1/worker/heartbeats"),
        ("POST", "/v1/worker/results"),
        *(("GET", f"/v1/{part}") for part in ("ops", "targets", "workers", "workloads", "records")),
        ("GET", "/healthz"),
        ("GET", "/readyz"),
    }


def test_without_a_token_nothing_but_health_answers(shared):
    with shared.client() as nobody:
        for method, path in [*CLOSED, ("GET", "/openapi.json"), ("GET", "/v1/none")]:
            answer = nobody.request(method, path)
            assert answer.status_code == 401, path
            assert answer.headers["Content-Type"] == PROBLEM
            assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert nobody.get("/healthz").json() == {"status": "ok"}
        assert nobody.get("/readyz").json() == {"status": "ready"}


@pytest.mark.parametrize("header", ["Bearer", "Bearer wrong", "Basic dTpw", "tw_x"])
def test_a_wrong_token_is_no_token(shared, header):
    with shared.client() as nobody:
        answer = nobody.get("/v1/jobs", headers={"Authorization": header})
    assert (answer.status_code, answer.json()["type"]) == (401, "unauthorized")


@pytest.mark.parametrize(
    ("role", "method", "path"),
    [
        ("read", "POST", "/v1/jobs"),
        ("read", "POST", "/v1/jobs/x/cancel"),
        ("read", "POST", "/v1/worker/enrol"),
        ("submit", "POST", "/v1/worker/enrol"),
        ("work", "GET", "/v1/jobs"),
        ("work", "GET", "/v1/records"),
    ],
)
def test_a_role_may_not_do_what_another_may(shared, role, method, path):
    body = {"workloads": [MATMUL]} if path == "/v1/jobs" and method == "POST" else None
    if path.endswith("enrol"):
        body = {
            "name": "n", "fingerprint": "f", "targets": ["cpu-avx2-1t"], "generator": "g",
            "compiler": "c", "version": "v",
        }  # fmt: skip
    answer = shared.clients[role].request(method, path, json=body)
    assert (answer.status_code, answer.json()["type"]) == (403, "forbidden")
    assert f"this one has the role {role}" in answer.json()["detail"]


def test_a_server_is_not_reached_under_a_foreign_name(shared):
    answer = shared.admin.get("/healthz", headers={"Host": "evil.example"})
    assert (answer.status_code, answer.json()["type"]) == (400, "unknown-host")
    for host in ("localhost", "localhost:8765", "[::1]:8765", "127.0.0.1"):
        assert shared.admin.get("/healthz", headers={"Host": host}).status_code == 200


def test_a_large_body_is_refused_whether_its_size_is_told_or_not(tmp_path, pristine):
    with serving(tmp_path, pristine, max_body_bytes=1000) as server:
        headers = {"Content-Type": "application/json"}
        for content in (b" " * 1001, iter([b" " * 600, b" " * 600])):
            answer = server.admin.post("/v1/jobs", content=content, headers=headers)
            assert answer.status_code == 413
            assert answer.headers["Content-Type"] == PROBLEM
            assert answer.json()["detail"] == "the body may have 1000 bytes at most"


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/v1/none", 404, "not-found"),
        ("DELETE", "/v1/jobs", 405, "method-not-allowed"),
        ("GET", "/v1/workloads/none", 404, "not-found"),
    ],
)
def test_errors_of_the_router_are_problems_too(shared, method, path, status, kind):
    answer = shared.admin.request(method, path)
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, PROBLEM)
    assert (answer.json()["type"], answer.json()["status"]) == (kind, status)


def test_a_defect_is_a_problem_that_tells_no_secrets(server, monkeypatch):
    def broken(*_):
        raise RuntimeError("the secret")

    monkeypatch.setattr("server.routes.jobs.jobs.page", broken)
    answer = server.admin.get("/v1/jobs")
    assert (answer.status_code, answer.json()["type"]) == (500, "internal-error")
    assert "secret" not in answer.text


def test_the_surface_is_described(shared):
    document = shared.admin.get("/openapi.json").json()
    assert document["info"]["title"] == "Tilewright"
    described = {(m.upper(), path) for path, item in document["paths"].items() for m in item}
    assert described == set(ROUTES)
    for item in document["paths"].values():
        for operation in item.values():
            assert operation["description"]
            assert list(operation["responses"]["4XX"]["content"]) == [PROBLEM]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.org"])
def test_other_machines_are_let_in_only_on_request(host):
    with pytest.raises(ValueError, match="is not the loopback"):
        Settings(database_url="sqlite:///t.db", host=host)
    assert Settings(database_url="sqlite:///t.db", host=host, allow_remote=True).host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_the_loopback_needs_no_permission(host):
    assert Settings(database_url="sqlite:///t.db", host=host).host == host
