"""The workers' side over HTTP; tests/db/test_leases.py has what the queue does behind it."""

import threading
import time

import pytest

from db import workers
from tests.server.conftest import FakeWorker, failed, ok, serving
from tests.server.queued import queue_candidates, writing
from tuner.codegen.kernel import GENERATOR
from tuner.record import Purpose, Timing


def queued(server, *ids, **changes):
    """A job whose first workload has these candidates in the queue."""
    job = server.submit()
    queue_candidates(server, job["id"], *ids, **changes)
    return job


def test_enrolment_tells_the_worker_its_numbers(server, worker):
    answer = worker.http.post("/v1/worker/enrol", json=worker.introduction)
    assert answer.status_code == 201
    assert answer.json() == {"worker_id": worker.id, "lease_s": 60, "beat_s": 15, "poll_s": 0.2}


def test_a_worker_with_another_generator_is_told_so(server, worker):
    body = {**worker.introduction, "generator": "g1:other"}
    answer = worker.http.post("/v1/worker/enrol", json=body)
    assert (answer.status_code, answer.json()["type"]) == (426, "other-generator")
    assert GENERATOR in answer.json()["detail"]


def test_a_worker_that_outlived_its_servers_version_gets_no_more_work(server, worker):
    queued(server, "a")
    with writing(server) as session:
        workers.get(session, worker.id).generator = "g1:older"
    answer = worker.claim()
    assert (answer.status_code, answer.json()["type"]) == (426, "other-generator")
    assert "the worker's g1:older" in answer.json()["detail"]


def test_a_target_that_nobody_knows_cannot_be_enrolled(server, worker):
    body = {**worker.introduction, "targets": ["abacus"]}
    answer = worker.http.post("/v1/worker/enrol", json=body)
    assert answer.status_code == 422
    assert "unknown target 'abacus'; there are: cpu-avx2-1t" in answer.json()["detail"]


def test_a_grant_has_all_that_a_worker_needs(server, worker):
    job = queued(server, "a", "b", timing=Timing(limit_s=3.0))
    grant = worker.claim().json()
    workload = job["workloads"][0]["hash"]
    program = server.admin.get(f"/v1/workloads/{workload}").json()["program"]
    expected = {
        "lease_s": 60.0, "job": job["id"], "workload": workload, "program": program,
        "target": "cpu-avx2-1t", "purpose": "search", "peaks_wanted": True,
    }  # fmt: skip
    assert {key: grant[key] for key in expected} == expected
    assert Timing(**grant["timing"]) == Timing(limit_s=3.0)
    steps = {"version": 1, "steps": [{"step": "unroll", "loop": "l2"}]}
    assert grant["items"] == [{"candidate": c, "steps": steps} for c in ("a", "b")]


def test_the_same_claim_gets_the_same_grant(server, worker):
    queued(server, "a", "b")
    first = worker.claim("mine", max_items=1)
    assert worker.claim("mine", max_items=1).json() == first.json()


def test_a_claim_without_work_ends_with_nothing(server, worker):
    answer = worker.claim()
    assert (answer.status_code, answer.content) == (204, b"")


def test_a_waiting_claim_gets_work_that_comes(tmp_path, pristine):
    with serving(tmp_path, pristine, poll_s=20.0) as server:
        worker, got = FakeWorker(server), []
        waiting = threading.Thread(target=lambda: got.append(worker.claim()))
        waiting.start()
        queued(server, "a")
        waiting.join()
        assert got[0].json()["items"][0]["candidate"] == "a"


def test_claims_that_wait_hold_no_thread_and_no_connection(tmp_path, pristine):
    """More claims than the server has threads, or its engine connections."""
    with serving(tmp_path, pristine, poll_s=30.0) as server:
        worker, answers = FakeWorker(server), []
        claims = [
            threading.Thread(target=lambda i=i: answers.append(worker.claim(str(i), max_items=1)))
            for i in range(60)
        ]
        for claim in claims:
            claim.start()
        for _ in range(20):
            assert server.admin.get("/v1/jobs").status_code == 200
        assert answers == []
        queued(server, *(f"c{i}" for i in range(60)))
        for claim in claims:
            claim.join()
        granted = [item["candidate"] for a in answers for item in a.json()["items"]]
        assert sorted(granted) == sorted(f"c{i}" for i in range(60))


def test_a_worker_that_nobody_knows_has_to_enrol(server, worker):
    worker.id = "none"
    for answer in (worker.claim(), worker.beat()):
        assert (answer.status_code, answer.json()["type"]) == (404, "not-found")
        assert "enrol first" in answer.json()["detail"]


def test_results_reach_the_job_the_log_and_the_events(server, worker):
    job = queued(server, "a", "b")
    grant = worker.claim().json()
    answer = worker.report(grant, {"a": ok(2e-3), "b": failed("compile_error")})
    assert (answer.status_code, answer.json()) == (200, {"accepted": ["a", "b"], "replayed": []})
    shown = server.job(job["id"])
    assert shown["trials"] == {"issued": 2, "done": 2, "failed": 1}
    assert shown["peaks"] == {"flops_per_s": 1e11, "copy_bytes_per_s": 1e10}
    assert shown["workloads"][0]["failures"] == {"compile_error": 1}
    records = server.admin.get("/v1/records", params={"job": job["id"]}).json()["items"]
    assert [(r["id"], r["measurement"]["outcome"]) for r in records] == [
        ("a", "ok"), ("b", "compile_error"),
    ]  # fmt: skip
    assert records[0]["worker"] == worker.id
    assert worker.claim().status_code == 204


def test_a_result_is_taken_once(server, worker):
    queued(server, "a", "b")
    grant = worker.claim().json()
    worker.report(grant, {"a": ok()})
    answer = worker.report(grant, {"a": ok(), "b": ok()})
    assert answer.json() == {"accepted": ["b"], "replayed": ["a"]}


def test_a_stale_lease_is_a_conflict(server, worker):
    job = queued(server, "a")
    grant = worker.claim().json()
    for change in ({"fence": grant["fence"] + 1}, {"lease_id": "none"}):
        answer = worker.report(grant, {"a": ok()}, **change)
        assert (answer.status_code, answer.json()["type"]) == (409, "stale-lease")
    assert server.job(job["id"])["trials"]["done"] == 0


def test_an_overdue_lease_goes_to_the_next_claim(server, worker):
    queued(server, "a")
    grant = worker.claim().json()
    server.clock.ahead_s = 61
    again = worker.claim().json()
    assert again["items"] == grant["items"]
    assert again["fence"] > grant["fence"]
    assert worker.report(grant, {"a": ok()}).status_code == 409
    assert worker.beat(grant["lease_id"]).json()["lost"] == [grant["lease_id"]]
    assert worker.report(again, {"a": ok()}).json()["accepted"] == ["a"]


def test_beats_keep_a_lease(server, worker):
    queued(server, "a")
    grant = worker.claim().json()
    for ahead in (40, 80, 120):
        server.clock.ahead_s = ahead
        answer = worker.beat(grant["lease_id"]).json()
        assert answer == {"cancel": [], "lost": [], "drain": False}
        time.sleep(0.1)
    assert worker.report(grant, {"a": ok()}).json()["accepted"] == ["a"]


def test_a_cancelled_job_reaches_the_worker_with_its_beat(server, worker):
    job = queued(server, "a", "b")
    grant = worker.claim(max_items=1).json()
    server.admin.post(f"/v1/jobs/{job['id']}/cancel")
    assert worker.beat(grant["lease_id"]).json()["cancel"] == [grant["lease_id"]]
    assert worker.report(grant, {"a": failed("cancelled")}).json()["accepted"] == ["a"]
    assert worker.claim().status_code == 204


def test_a_play_off_is_granted_as_one(server, worker):
    queued(server, "a", "b", purpose=Purpose.PLAYOFF)
    assert worker.claim().json()["purpose"] == "playoff"


@pytest.mark.parametrize(
    ("measurement", "words"),
    [
        ({}, "not a measurement"),
        ({"outcome": "splendid"}, "'splendid' is not a valid Outcome"),
        ({"outcome": "ok", "colour": 1}, "not a measurement"),
        ({"outcome": "ok"}, "an ok needs samples_s and median_s"),
        ({"outcome": "ok", "samples_s": [0.0], "median_s": 1e-3}, "must be positive and finite"),
        ({"outcome": "ok", "samples_s": [1.0], "median_s": -1.0}, "must be positive and finite"),
        ({"outcome": "ok", "samples_s": ["x"], "median_s": 1.0}, "could not convert string"),
        ({"outcome": "ok", "samples_s": [1.0], "median_s": "x"}, "not a measurement"),
    ],
)
def test_a_result_that_is_none_is_refused(server, worker, measurement, words):
    job = queued(server, "a")
    grant = worker.claim().json()
    answer = worker.report(grant, {"a": measurement})
    assert answer.status_code == 422
    assert words in answer.json()["detail"]
    assert server.job(job["id"])["trials"]["done"] == 0


def test_not_a_number_is_no_time(server, worker):
    queued(server, "a")
    grant = worker.claim().json()
    body = (
        f'{{"worker_id": "{worker.id}", "lease_id": "{grant["lease_id"]}", '
        f'"fence": {grant["fence"]}, "results": [{{"candidate": "a", "measurement": '
        '{"outcome": "ok", "samples_s": [NaN], "median_s": NaN}}]}'
    )
    headers = {"Content-Type": "application/json"}
    answer = worker.http.post("/v1/worker/results", content=body, headers=headers)
    assert answer.status_code == 422


def test_peaks_have_to_be_positive(server, worker):
    queued(server, "a")
    grant = worker.claim().json()
    peaks = {"flops_per_s": 0, "copy_bytes_per_s": 1}
    assert worker.report(grant, {"a": ok()}, peaks=peaks).status_code == 422


def test_a_server_that_starts_again_still_knows_its_leases(tmp_path, pristine):
    with serving(tmp_path, pristine) as server:
        worker = FakeWorker(server)
        job = queued(server, "a", "b")
        grant = worker.claim().json()
    with serving(tmp_path, pristine) as server:
        worker.http = server.clients["work"]
        assert worker.report(grant, {"a": ok(), "b": ok()}).json()["accepted"] == ["a", "b"]
        assert server.job(job["id"])["trials"]["done"] == 2
