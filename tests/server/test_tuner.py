"""The tuner process's work, with a worker that builds nothing and makes up its times."""

import hashlib
import json
import threading
import time
from contextlib import contextmanager

import pytest

import db
from server.services.tuner import Tuner
from server.settings import Settings
from tests.server.conftest import FAST, TARGET, FakeWorker, failed, ok
from tuner.codegen.kernel import GENERATOR, generate
from tuner.frontends.text import parse
from tuner.record import Outcome
from tuner.schedule.steps import schedule_from_json
from tuner.target import target

#: Cheap to search, and with more schedules than any job here has trials.
WORKLOAD = {"op": "softmax", "sizes": {"rows": 24, "cols": 96}}


class Machine(threading.Thread):
    """A worker whose times follow from the schedules; every seventh candidate crashes."""

    def __init__(self, server, outcome=None, name="box"):
        super().__init__()
        self.worker, self.outcome = FakeWorker(server, name), outcome
        self.over = threading.Event()
        self.measured = []

    def run(self):
        while not self.over.is_set():
            answer = self.worker.claim()
            if answer.status_code == 200:
                grant = answer.json()
                results = {
                    item["candidate"]: self.measure(grant, item["steps"]) for item in grant["items"]
                }
                self.measured += results
                self.worker.report(grant, results)

    def measure(self, grant, steps):
        number = int(hashlib.sha256(json.dumps(steps).encode()).hexdigest()[:8], 16)
        if self.outcome is not None or (grant["purpose"] == "search" and number % 7 == 0):
            return failed(self.outcome or "crash")
        program = parse(grant["program"])
        source = generate(program, schedule_from_json(steps), target(grant["target"]))
        samples = 30 if grant["purpose"] == "playoff" else 3
        return {**ok(1e-5 + number * 1e-15, samples), "source_sha256": source.sha256}


@contextmanager
def measuring(server, **changes):
    machine = Machine(server, **changes)
    machine.start()
    try:
        yield machine
    finally:
        machine.over.set()
        machine.join()


@contextmanager
def tuning(server, timer=time.monotonic):
    """A tuner in a thread, stopped at the end as by SIGTERM."""
    database = db.open(server.database_url, db.Role.TUNER)
    stop = threading.Event()
    settings = Settings(database_url=server.database_url, **FAST)
    thread = threading.Thread(target=Tuner(database, settings, stop, server.clock, timer).run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        database.close()


def wait_for(condition):
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "it did not happen within a minute"
        time.sleep(0.02)


def ended(server, id):
    wait_for(lambda: server.job(id)["state"] not in ("queued", "running"))
    return server.job(id)


def records(server, id, **params):
    params = {"job": id, "limit": 1000, **params}
    return server.admin.get("/v1/records", params=params).json()["items"]


def test_a_job_ends_with_a_verified_best_that_can_be_read(server):
    with measuring(server), tuning(server):
        id = server.submit(WORKLOAD, budget={"trials": 30, "seconds": 600})["id"]
        job = ended(server, id)
    assert (job["state"], job["reason"]) == ("done", "")
    search = records(server, id, purpose="search")
    assert len(search) == 30 == job["trials"]["issued"] == job["trials"]["done"]
    (workload,) = job["workloads"]
    crashes = sum(r["measurement"]["outcome"] == "crash" for r in search)
    assert workload["failures"] == ({"crash": crashes} if crashes else {})
    assert workload["trials"] == {"done": 30, "failed": crashes}
    best = workload["best"]
    assert best["verified"]
    assert best["ci_s"] is not None
    assert best["median_s"] == min(
        r["measurement"]["median_s"] for r in search if r["measurement"]["median_s"]
    )
    shown = server.admin.get(f"/v1/workloads/{workload['hash']}").json()
    least = max(shown["flops"] / 1e11, shown["io_bytes"] / 1e10)
    assert best["peak_share"] == pytest.approx(least / best["median_s"])
    assert f"generator {GENERATOR}" in server.admin.get(best["source_url"]).text
    stages = server.admin.get(best["program_url"]).json()["stages"]
    assert len(stages) == len(best["steps"]["steps"]) + 1
    asked = {**WORKLOAD, "target": TARGET}
    (served, *_) = server.admin.post("/v1/schedules/best", json=asked).json()["items"]
    assert served == best


def test_a_job_of_several_workloads_shares_its_budget(server):
    small = {"op": "matmul", "sizes": {"m": 4, "n": 4, "k": 4}}
    with measuring(server), tuning(server):
        id = server.submit(WORKLOAD, small, budget={"trials": 40, "seconds": 600})["id"]
        job = ended(server, id)
    assert job["state"] == "done"
    assert all(w["state"] == "done" and w["best"] for w in job["workloads"])
    assert sum(w["trials"]["done"] for w in job["workloads"]) == job["trials"]["done"] <= 40


def test_what_happened_is_told_in_order(server):
    with measuring(server), tuning(server):
        id = server.submit(WORKLOAD, budget={"trials": 20, "seconds": 600})["id"]
        ended(server, id)
    lines = server.admin.get(f"/v1/jobs/{id}/events").text.splitlines()
    kinds = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    numbers = [int(line.removeprefix("id: ")) for line in lines if line.startswith("id: ")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert (kinds[0], kinds[-1]) == ("state", "done")
    assert kinds.count("trial") >= 20
    assert {"round", "best"} <= set(kinds)


def test_a_tuner_that_is_stopped_leaves_the_job_to_the_next_and_nothing_is_measured_twice(server):
    with measuring(server) as machine:
        with tuning(server):
            id = server.submit(WORKLOAD, budget={"trials": 36, "seconds": 600})["id"]
            wait_for(lambda: server.job(id)["trials"]["done"] >= 12)
        assert server.job(id)["state"] == "running"
        before = {r["id"] for r in records(server, id)}
        with tuning(server):
            job = ended(server, id)
    assert job["state"] == "done"
    after = records(server, id)
    assert before <= {r["id"] for r in after}
    assert len(machine.measured) == len(set(machine.measured)) == len(after)
    search = [json.dumps(r["steps"]) for r in after if r["purpose"] == "search"]
    assert len(search) == len(set(search)) == 36


def test_a_second_job_is_answered_at_once_and_one_that_wants_more_measures_nothing_again(server):
    budget = {"trials": 16, "seconds": 600}
    with measuring(server), tuning(server):
        first = ended(server, server.submit(WORKLOAD, budget=budget)["id"])
        second = server.submit(WORKLOAD, budget=budget)
        more = ended(server, server.submit(WORKLOAD, budget=budget, more=True)["id"])
    best = first["workloads"][0]["best"]
    assert (second["state"], second["trials"]["issued"]) == ("done", 0)
    assert second["workloads"][0]["best"] == best
    assert "tuned before with 16 trials on this machine" in second["reason"]
    assert (second["target"], second["fingerprint"]) == (TARGET, first["fingerprint"])
    assert server.admin.get(f"/v1/jobs/{second['id']}/events").text.count("event: done") == 1
    assert more["workloads"][0]["best"]["median_s"] <= best["median_s"]
    jobs = [first, more]
    steps = [
        json.dumps(r["steps"]) for j in jobs for r in records(server, j["id"], purpose="search")
    ]
    assert len(steps) == len(set(steps)) == 32


def test_a_job_of_which_every_candidate_fails_ends_with_the_reasons(server):
    with measuring(server, outcome=Outcome.WRONG_RESULT), tuning(server):
        id = server.submit(WORKLOAD, budget={"trials": 12, "seconds": 600})["id"]
        job = ended(server, id)
    assert job["state"] == "failed"
    assert "wrong_result 12" in job["reason"]
    assert job["workloads"][0]["failures"] == {"wrong_result": 12}
    assert job["workloads"][0]["best"] is None


def test_a_running_job_is_cancelled_and_keeps_what_was_measured(server):
    with measuring(server), tuning(server):
        id = server.submit(WORKLOAD, budget={"trials": 5000, "seconds": 600})["id"]
        wait_for(lambda: server.job(id)["trials"]["done"] >= 12)
        server.admin.post(f"/v1/jobs/{id}/cancel")
        job = ended(server, id)
    assert (job["state"], job["reason"]) == ("cancelled", "cancelled by a user")
    assert len(records(server, id)) >= 12


def test_a_job_whose_time_is_up_ends_with_what_there_is(server):
    passed = []
    with measuring(server), tuning(server, lambda: time.monotonic() + sum(passed)):
        id = server.submit(WORKLOAD, budget={"trials": 5000, "seconds": 6000})["id"]
        wait_for(lambda: server.job(id)["trials"]["done"] >= 12)
        passed.append(6000.0)
        job = ended(server, id)
    assert job["state"] == "done"
    assert job["workloads"][0]["best"]
    assert job["trials"]["done"] < 5000


def test_a_job_waits_for_a_machine_and_does_not_hold_up_others(server):
    with tuning(server), measuring(server):
        waiting = server.submit(WORKLOAD, target="cpu-neon-1t")["id"]
        id = server.submit(WORKLOAD, budget={"trials": 4, "seconds": 600})["id"]
        assert ended(server, id)["state"] == "done"
    assert server.job(waiting)["state"] == "queued"


def test_a_job_without_a_target_takes_the_machines(server):
    with measuring(server), tuning(server):
        id = server.submit(WORKLOAD, target=None, budget={"trials": 4, "seconds": 600})["id"]
        assert ended(server, id)["target"] == TARGET


def test_a_defect_ends_the_job_and_not_the_tuner(server, monkeypatch):
    def broken(*_):
        raise RuntimeError("planted")

    with measuring(server), tuning(server):
        with monkeypatch.context() as patch:
            patch.setattr("server.services.tuner.tune", broken)
            id = server.submit(WORKLOAD)["id"]
            job = ended(server, id)
        assert job["state"] == "failed"
        assert job["reason"] == "a defect of the tuner: RuntimeError('planted'); its log has more"
        id = server.submit(WORKLOAD, budget={"trials": 4, "seconds": 600})["id"]
        assert ended(server, id)["state"] == "done"
