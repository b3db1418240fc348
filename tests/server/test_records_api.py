"""The tuning log over HTTP: export as a stream, import batch by batch."""

import json

import pytest

from tests.conformance.test_log_lines import exported, measure
from tests.server.conftest import serving
from tests.tune.fake_bench import FakeBench
from tests.tune.jobs import SMALL, run
from tuner.log_import import BATCH_LINES
from tuner.log_lines import canonical_lines


@pytest.fixture(scope="module")
def server(tmp_path_factory, pristine):
    # Bodies that are not streamed are cut off soon.
    with serving(tmp_path_factory.mktemp("records"), pristine, max_body_bytes=4096) as running:
        yield running


@pytest.fixture(scope="module")
def log():
    bench = FakeBench([SMALL], measure=measure)
    run(bench, SMALL, trials=12)
    return bench.log


def take_in(server, text, role="admin"):
    return server.clients[role].post("/v1/records/import", content=text.encode())


def test_what_was_exported_is_imported_and_exported_again(server, log):
    text = "".join(f"{line}\n" for line in exported(log))
    assert len(text) > 4096
    came = take_in(server, text)
    records = text.count("\n") - 1
    expected = {
        "lines": records + 1, "workloads_added": 1, "workloads_known": 0, "records_added": records,
        "records_known": 0, "lines_refused": 0, "refused": [],
    }  # fmt: skip
    assert (came.status_code, came.json()) == (200, expected)
    answer = server.clients["read"].get("/v1/records/export", params={"workload": SMALL.hash})
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert answer.text == text
    again = take_in(server, text).json()
    assert (again["records_added"], again["records_known"]) == (0, records)


def test_what_is_imported_is_not_served_unmeasured(server, log):
    take_in(server, "".join(f"{line}\n" for line in exported(log)))
    found = server.admin.get("/v1/schedules/best", params={"workload": SMALL.hash}).json()
    assert found["items"] == []


def test_the_canonical_form_is_of_one_whole_job(server, log):
    take_in(server, "".join(f"{line}\n" for line in exported(log)))
    answer = server.admin.get("/v1/records/export", params={"job": "job", "canonical": True})
    assert answer.text.splitlines() == [x for page in canonical_lines(log, "job") for x in page]
    for params in ({}, {"job": "job", "purpose": "search"}):
        answer = server.admin.get("/v1/records/export", params={"canonical": True, **params})
        assert (answer.status_code, answer.json()["type"]) == (422, "invalid-request")
        assert "give job and nothing else" in answer.json()["detail"]


def test_refused_lines_are_told_with_their_numbers_across_batches(server):
    lines = [json.dumps({"v": 1, "kind": "best"})] * (BATCH_LINES + 2)
    came = take_in(server, "\n".join(lines)).json()
    assert came["lines_refused"] == came["lines"] == BATCH_LINES + 2
    assert [one["line"] for one in came["refused"]] == list(range(1, BATCH_LINES + 3))
    assert "expected workload or record" in came["refused"][-1]["reason"]


@pytest.mark.parametrize("role", ["submit", "read", "work"])
def test_only_an_admin_imports(server, role):
    answer = take_in(server, "{}", role)
    assert (answer.status_code, answer.json()["type"]) == (403, "forbidden")


def test_a_worker_does_not_export(server):
    assert server.clients["work"].get("/v1/records/export").status_code == 403
