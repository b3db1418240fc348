"""Two servers and two tuners on one PostgreSQL, with workers at either server."""

from contextlib import ExitStack

import pytest

from db.engine import Database
from db.errors import DatabaseUnavailable
from tests.server.conftest import failed, make_tokens, serving_at
from tests.server.test_tuner import WORKLOAD, Machine, ended, records, tuning, wait_for

BUDGET = {"trials": 20, "seconds": 600}


@pytest.fixture
def two(postgres):
    with postgres.database() as url, ExitStack() as over:
        secrets = make_tokens(url)
        yield [over.enter_context(serving_at(url, secrets)) for _ in range(2)]


def test_two_tuners_run_two_jobs_at_a_time_and_workers_serve_both(two):
    machines = [Machine(server, name=f"box {n}") for n, server in enumerate([*two, *two])]
    with ExitStack() as over:
        for server in two:
            over.enter_context(tuning(server))
        asked = [
            server.submit(WORKLOAD, more=True, seed=seed, budget=BUDGET)["id"]
            for seed, server in enumerate(two)
        ]
        # Nothing is measured yet, so each tuner has a job in hand.
        wait_for(lambda: all(two[0].job(id)["trials"]["issued"] for id in asked))
        for machine in machines:
            over.callback(machine.join)
            over.callback(machine.over.set)
            machine.start()
        done = [ended(server, id) for server, id in zip(reversed(two), asked, strict=True)]
    assert [(job["state"], job["trials"]["done"]) for job in done] == [("done", 20)] * 2
    measured = [id for machine in machines for id in machine.measured]
    found = [r["id"] for id in asked for r in records(two[0], id)]
    assert sorted(measured) == sorted(found)
    assert len(set(measured)) == len(measured)


def test_what_one_server_granted_the_other_takes(two):
    with tuning(two[0]):
        here = Machine(two[0], name="box").worker
        id = two[1].submit(WORKLOAD, budget=BUDGET)["id"]
        wait_for(lambda: two[1].job(id)["trials"]["issued"])
        grant = here.claim("mine", max_items=2).json()
    here.http = two[1].clients["work"]
    assert here.claim("mine", max_items=2).json() == grant
    assert here.beat(grant["lease_id"]).json() == {"cancel": [], "lost": [], "drain": False}
    results = {item["candidate"]: failed("crash") for item in grant["items"]}
    assert sorted(here.report(grant, results).json()["accepted"]) == sorted(results)
    here.http = two[0].clients["work"]
    assert sorted(here.report(grant, results).json()["replayed"]) == sorted(results)
    assert len(records(two[0], id)) == 2


def test_a_text_that_the_database_cannot_keep_is_refused(two):
    answer = two[0].admin.get("/v1/records", params={"workload": "w1:\0"})
    assert (answer.status_code, answer.json()["type"]) == (422, "invalid-request")


def test_a_database_that_does_not_answer_is_told(two, monkeypatch):
    def gone(*_arguments):
        raise DatabaseUnavailable("gone")

    monkeypatch.setattr(Database, "read", gone)
    for path in ("/readyz", "/v1/records"):
        answer = two[0].admin.get(path)
        assert (answer.status_code, answer.json()["type"]) == (503, "not-ready"), path
        assert answer.headers["Retry-After"] == "1"
