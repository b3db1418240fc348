"""kill -9 of any process in mid-job: no recorded trial is lost and the job finishes."""

import pytest

from tests.end_to_end.running import Running, until

TRIALS = 24


@pytest.mark.parametrize(("role", "size"), [("worker", 64), ("tuner", 65), ("server", 66)])
def test_a_killed_process_loses_nothing(service: Running, role: str, size: int) -> None:
    workload = {"op": "matmul", "sizes": {"m": size, "n": size, "k": size}}
    body = {"workloads": [workload], "budget": {"trials": TRIALS, "seconds": 200}}
    id = service.client.post("/v1/jobs", body)["id"]
    until(lambda: service.job(id)["trials"]["done"] >= 4, "some trials are recorded")
    before = service.records(id)
    assert len(before) < TRIALS, "the job ended before the process could be killed"

    service.kill(role)

    job = service.finished(id)
    assert job["state"] == "done", job["reason"]
    after = service.records(id)
    assert before.items() <= after.items()
    assert job["trials"]["done"] == TRIALS
    searched = [record for record in after.values() if record["purpose"] == "search"]
    assert len(searched) == TRIALS
    assert job["workloads"][0]["best"]["verified"]
