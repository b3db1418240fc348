"""A job on simulated workers, through the service: leases, records, play-off, what is served."""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager

import pytest

from tests.server.conftest import serving
from tests.server.test_tuner import tuning
from tuner.model.machine import MACHINES
from workers.client import Client
from workers.simulate.device import Device
from workers.simulate.faults import read_faults
from workers.simulate.worker import Fleet, Workers

MATMUL = {"op": "matmul", "sizes": {"m": 32, "n": 32, "k": 32}}


@contextmanager
def simulating(server, count, device):
    with closing(Client(server.base, server.secrets["work"])) as client:
        workers = Workers(client, "sim", Fleet(device, count))
        thread = threading.Thread(target=workers.work)
        thread.start()
        try:
            yield
        finally:
            workers.drain.set()
            thread.join()


def finished(server, target, device, count, trials=12):
    """The job once it has ended, and its records."""
    with simulating(server, count, device), tuning(server):
        job = server.submit(
            MATMUL, target=target, budget={"trials": trials, "seconds": 100}, seed=5
        )["id"]
        with server.admin.stream("GET", f"/v1/jobs/{job}/events") as events:
            for line in events.iter_lines():
                if line == "event: done":
                    break
    records = server.admin.get("/v1/records", params={"job": job, "limit": 100}).json()["items"]
    return server.job(job), records


def export(folder, pristine, count):
    """The canonical export of a job of several rounds that so many faulty workers measured."""
    device = Device(
        machine=MACHINES["zen2"], noise=0.05, quick=True,
        # One candidate disconnects: a third lease lost sets others aside too, by who leased what.
        faults=read_faults("crash=0.1,disconnect=0.08"),
    )  # fmt: skip
    with serving(folder, pristine) as server:
        job, records = finished(server, "sim-zen2-1t", device, count, trials=40)
        assert job["state"] == "done", job
        assert len([r for r in records if r["purpose"] == "search"]) == 40
        query = {"job": job["id"], "canonical": True}
        return server.admin.get("/v1/records/export", params=query).text


@pytest.fixture(scope="module")
def alone(tmp_path_factory, pristine):
    return export(tmp_path_factory.mktemp("alone"), pristine, 1)


@pytest.mark.parametrize("target", ["sim-zen4-1t", "sim-a100"])
def test_one_worker_tunes_a_job(server, target):
    name = target.split("-")[1]
    device = Device(machine=MACHINES[name], noise=0.02)
    job, records = finished(server, target, device, 1)
    assert job["state"] == "done", job
    best = job["workloads"][0]["best"]
    assert best["target"] == target
    assert best["fingerprint"].startswith(f"simulated:{name}:")
    assert 0 < best["peak_share"] <= 1
    assert target in server.admin.get(best["source_url"]).text
    assert all(r["measurement"]["compiler"].startswith(f"simulated {name}") for r in records)
    targets = {t["name"]: t for t in server.admin.get("/v1/targets").json()["items"]}
    assert (targets[target]["simulated"], targets[target]["live_workers"]) == (True, 1)
    assert targets["cpu-avx2-1t"]["simulated"] is False
    (worker,) = server.admin.get("/v1/workers").json()["items"]
    assert worker["facts"]["simulated"] is True


@pytest.mark.parametrize("count", [4, 16])
def test_many_workers_with_faults_export_what_one_does(tmp_path, pristine, alone, count):
    assert '"crash"' in alone
    assert '"worker_lost"' not in alone
    assert export(tmp_path, pristine, count) == alone
