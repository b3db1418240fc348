"""Jobs over REST: submitted, refused, listed, shown, cancelled."""

import pytest

from tests.server.conftest import MATMUL, TARGET

RELU = """
def relu(x: f32[8], y: f32[8]):
    for i in range(8):
        y[i] = max(x[i], 0.0)
"""


def submit(server, key=None, role="admin", **body):
    headers = {"Idempotency-Key": key} if key else {}
    fields = {"workloads": [MATMUL], "target": TARGET, **body}
    return server.clients[role].post("/v1/jobs", json=fields, headers=headers)


def test_a_submitted_job_is_queued_under_its_location(server):
    answer = submit(
        server, workloads=[MATMUL | {"weight": 3.5}, {"program": RELU}],
        budget={"trials": 7, "seconds": 60}, seed=3, priority=-1, strategy="random", more=True,
    )  # fmt: skip
    assert answer.status_code == 201
    job = answer.json()
    assert answer.headers["Location"] == f"/v1/jobs/{job['id']}"
    assert server.admin.get(answer.headers["Location"]).json() == job
    assert (job["state"], job["target"], job["seed"], job["priority"]) == ("queued", TARGET, 3, -1)
    assert job["more"] is True
    assert job["budget"] == {"trials": 7, "seconds": 60.0}
    assert job["trials"] == {"issued": 0, "done": 0, "failed": 0}
    first, second = job["workloads"]
    assert (first["name"], first["op"], first["sizes"]) == ("matmul", "matmul", MATMUL["sizes"])
    assert (second["name"], second["op"], second["best"]) == ("relu", None, None)
    assert (first["weight"], second["weight"]) == (3.5, 1.0)
    assert (job["spent"], job["idle_share"]) == ({}, None)
    assert first["hash"].startswith("w1:")
    assert first["hash"] != second["hash"]


def test_the_same_computation_has_the_same_hash_whatever_its_names(server):
    renamed = RELU.replace("x", "a").replace("relu(", "f(").replace("maa", "max")
    a, b = (server.submit({"program": text})["workloads"][0] for text in (RELU, renamed))
    assert (a["hash"], a["name"], b["name"]) == (b["hash"], "relu", "f")


def test_constants_are_part_of_what_is_computed(server):
    plain, constant = (
        server.submit({**MATMUL, **named})["workloads"][0] for named in ({}, {"constants": ["b"]})
    )
    assert plain["hash"] != constant["hash"]
    assert (constant["name"], constant["sizes"]) == (plain["name"], plain["sizes"])


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ({"budget": {"trials": 0}}, "invalid-request", "/body/budget/trials: Input should be"),
        ({"budget": {"seconds": 0}}, "invalid-request", "/body/budget/seconds: Input should be"),
        ({"budget": {"hours": 1}}, "invalid-request", "/body/budget/hours"),
        ({"workloads": []}, "invalid-request", "/body/workloads"),
        ({"workloads": [{}]}, "invalid-request", "give either op, with sizes, or program"),
        ({"workloads": [{**MATMUL, "program": RELU}]}, "invalid-request", "give either op"),
        ({"workloads": [{"program": RELU, "sizes": {"m": 1}}]}, "invalid-request", "belong to an"),
        ({"workloads": [{"program": RELU, "constants": ["x"]}]}, "invalid-request", "own const"),
        ({"workloads": [MATMUL, MATMUL]}, "invalid-request", "is given 2 times"),
        ({"strategy": "magic"}, "invalid-request", "'evolutionary', 'random' or 'exhaustive'"),
        ({"seed": -1}, "invalid-request", "/body/seed"),
        ({"workloads": [MATMUL | {"weight": 0}]}, "invalid-request", "/body/workloads/0/weight"),
        ({"colour": 1}, "invalid-request", "/body/colour"),
        ({"target": "abacus"}, "unknown-target", "there are: cpu-avx2-1t, cpu-avx512-1t"),
        ({"workloads": [{"op": "dance"}]}, "unknown-workload", "there are: matmul, batch_matmul"),
        ({"workloads": [{"op": "matmul"}]}, "unknown-workload", "'m' is missing; there are: m, n"),
        (
            {"workloads": [{"op": "matmul", "sizes": {"m": 0, "n": 4, "k": 4}}]},
            "unknown-workload", "m=0; it must be an integer from 1",
        ),
        (
            {"workloads": [{"op": "matmul", "sizes": {"m": -3, "n": 4, "k": 4}}]},
            "unknown-workload", "m=-3; it must be",
        ),
        ({"workloads": [{**MATMUL, "dtype": "f8"}]}, "unknown-workload", "no dtype 'f8'"),
    ],
)  # fmt: skip
def test_what_cannot_be_tuned_is_refused_with_what_could(shared, body, kind, words):
    answer = submit(shared, **body)
    assert answer.status_code == 422
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["type"], problem["status"]) == (kind, 422)
    assert words in problem["detail"]
    assert shared.admin.get("/v1/jobs").json()["items"] == []


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("def f(x: f32[8], y: f32[8]):\n    x = = y\n", 2, ""),
        (RELU.replace("x[i]", "x[i + 1]"), 4, "x[i + 1]"),
        (RELU.replace("f32[8], y", "f9[8], y"), 2, "f9"),
        (RELU.replace("max(x[i], 0.0)", "-" * 60_000 + "x[i]"), 4, ""),
    ],
)  # fmt: skip
def test_a_bad_program_is_refused_with_its_place(shared, text, line, words):
    answer = submit(shared, workloads=[MATMUL, {"program": text}])
    assert answer.status_code == 422
    problem = answer.json()
    assert (problem["type"], problem["pointer"]) == ("program-refused", "/workloads/1/program")
    assert problem["line"] == line
    assert problem["column"] >= 1
    assert words in problem["detail"]


def test_a_program_text_that_is_no_unicode_is_refused(shared):
    body = b'{"workloads": [{"program": "def f(): \\ud800"}]}'
    headers = {"Content-Type": "application/json"}
    assert shared.admin.post("/v1/jobs", content=body, headers=headers).status_code == 422


@pytest.mark.parametrize("body", [b"{", b"[" * 100_000, b"\xff", b"3", b""])
def test_a_body_that_is_no_job_is_refused(shared, body):
    headers = {"Content-Type": "application/json"}
    answer = shared.admin.post("/v1/jobs", content=body, headers=headers)
    assert answer.status_code in (400, 422)
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_a_repeated_key_gets_the_first_answer(server):
    first = submit(server, "key")
    again = submit(server, "key")
    assert again.status_code == 201
    assert again.json() == first.json()
    assert again.headers["Location"] == first.headers["Location"]
    assert len(server.admin.get("/v1/jobs").json()["items"]) == 1
    assert submit(server, "other").json()["id"] != first.json()["id"]


def test_a_repeated_key_with_another_request_is_refused(server):
    submit(server, "key")
    answer = submit(server, "key", seed=1)
    assert (answer.status_code, answer.json()["type"]) == (409, "conflict")


def test_the_key_of_another_token_is_another_key(server):
    assert submit(server, "key").json()["id"] != submit(server, "key", "submit").json()["id"]


def test_jobs_are_listed_youngest_first_in_pages(server):
    made = [server.submit(seed=seed)["id"] for seed in range(5)]
    listed, cursor = [], None
    while True:
        params = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = server.admin.get("/v1/jobs", params=params).json()
        listed += [job["id"] for job in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert listed == made[::-1]


def test_jobs_are_listed_by_state(server):
    id = server.submit()["id"]
    server.submit()
    server.admin.post(f"/v1/jobs/{id}/cancel")
    (only,) = server.admin.get("/v1/jobs", params={"state": "cancelled"}).json()["items"]
    assert only["id"] == id


@pytest.mark.parametrize(
    "params", [{"limit": 0}, {"limit": 1001}, {"cursor": "!"}, {"cursor": "YWJj"}, {"state": "odd"}]
)
def test_a_list_is_not_asked_for_badly(shared, params):
    answer = shared.admin.get("/v1/jobs", params=params)
    assert (answer.status_code, answer.json()["type"]) == (422, "invalid-request")


def test_cancelling_is_idempotent(server):
    id = server.submit()["id"]
    first = server.admin.post(f"/v1/jobs/{id}/cancel")
    assert (first.status_code, first.json()["state"]) == (200, "cancelled")
    assert server.admin.post(f"/v1/jobs/{id}/cancel").json() == first.json()
    assert server.job(id)["workloads"][0]["state"] == "cancelled"


def test_submitters_stop_only_their_own_jobs(server):
    own = submit(server, role="submit").json()["id"]
    foreign = server.submit()["id"]
    answer = server.clients["submit"].post(f"/v1/jobs/{foreign}/cancel")
    assert (answer.status_code, answer.json()["type"]) == (403, "forbidden")
    assert server.clients["submit"].post(f"/v1/jobs/{own}/cancel").status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/v1/jobs/none"), ("POST", "/v1/jobs/none/cancel"), ("GET", "/v1/jobs/none/events")],
)
def test_an_unknown_job_is_not_found(shared, method, path):
    answer = shared.admin.request(method, path)
    assert (answer.status_code, answer.json()["type"]) == (404, "not-found")
    assert "no job 'none'" in answer.json()["detail"]


def test_a_job_that_no_machine_comes_for_expires(server):
    id = server.submit(deadline_s=100)["id"]
    server.clock.ahead_s = 101
    for _ in range(200):
        if server.job(id)["state"] == "expired":
            break
    assert server.job(id)["reason"] == "no machine for cpu-avx2-1t came before the deadline"
