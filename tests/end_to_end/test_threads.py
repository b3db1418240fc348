"""A target of two threads, from a job to a kernel that is served."""

from __future__ import annotations

import os

import pytest

from tests.conftest import require
from tests.end_to_end.running import Running, until
from tuner.target import target


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_a_matmul_is_tuned_for_all_cores(service: Running) -> None:
    require("gcc")
    until(lambda: bool(service.client.get("/v1/workers")["items"]), "a worker enrolled")
    (worker,) = service.client.get("/v1/workers")["items"]
    threaded = [name for name in worker["targets"] if target(name).threads > 1]
    if not threaded:
        pytest.skip("needs two physical cores")
    body = {
        "workloads": [{"op": "matmul", "sizes": {"m": 96, "n": 80, "k": 64}}],
        "target": threaded[0],
        "budget": {"trials": 8, "seconds": 120},
    }
    job = service.finished(service.client.post("/v1/jobs", body)["id"])
    assert (job["state"], job["target"]) == ("done", threaded[0]), job
    best = job["workloads"][0]["best"]
    assert best["verified"]
    named = service.client.get("/v1/targets")["items"]
    assert threaded[0] in [item["name"] for item in named]


def test_an_omitted_target_has_one_thread(service: Running) -> None:
    body = {
        "workloads": [{"op": "matmul", "sizes": {"m": 24, "n": 32, "k": 16}}],
        "budget": {"trials": 2, "seconds": 60},
    }
    job = service.finished(service.client.post("/v1/jobs", body)["id"])
    assert target(job["target"]).threads == 1
