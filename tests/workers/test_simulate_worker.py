"""Simulated workers against a service in this process."""

from __future__ import annotations

import threading
import time
from contextlib import closing, contextmanager

import pytest

from tests.workers.fake_server import TOKEN, FakeService, serving
from tests.workers.kernels import MATMUL
from tuner.codegen.kernel import GENERATOR, generate
from tuner.errors import TargetError
from tuner.ir.show import show
from tuner.model.machine import MACHINES
from tuner.schedule.steps import Split, schedule_to_json
from tuner.target import target
from workers.client import Client
from workers.errors import Unauthorized, WorkerError
from workers.simulate.device import Device
from workers.simulate.faults import read_faults
from workers.simulate.worker import Fleet, Workers, run

PROGRAM = show(MATMUL)
PLAIN = schedule_to_json(())
SPLIT = schedule_to_json((Split("l0", 8, "i0", "i1"),))
ILLEGAL = schedule_to_json((Split("nowhere", 8, "i0", "i1"),))
ZEN4 = "sim-zen4-1t"


@pytest.fixture
def service():
    with serving(FakeService()) as serves:
        yield serves


@contextmanager
def working(service, count=1, **changes):
    """Simulated workers at work for the service; they are drained at the end."""
    fleet = Fleet(Device(machine=MACHINES["zen4"], **changes), count)
    with closing(Client(service.url, TOKEN)) as client:
        workers = Workers(client, "sim", fleet)
        thread = threading.Thread(target=workers.work)
        thread.start()
        try:
            yield workers
        finally:
            workers.drain.set()
            thread.join(30)
            assert not thread.is_alive()


def test_a_lease_is_measured_and_reported(service):
    lease = service.offer(PROGRAM, [PLAIN, ILLEGAL, SPLIT], target=ZEN4, peaks_wanted=True)
    with working(service):
        service.wait_for(lambda: len(service.results) == 3)
        service.wait_for(lambda: service.beats[-1] == [])  # it is let go
    assert [service.results[f"c{i}"].outcome for i in range(3)] == ["ok", "refused", "ok"]
    good = service.results["c2"]
    source = generate(MATMUL, (Split("l0", 8, "i0", "i1"),), target(ZEN4))
    assert good.source_sha256 == source.sha256
    assert good.compiler.startswith("simulated zen4")
    assert [p.flops_per_s for p in service.peaks] == [pytest.approx(2 * 16 * 3.55e9)]
    assert any(lease in beat for beat in service.beats)
    (introduced,) = service.enrolments
    assert introduced["name"] == "sim-1"
    assert introduced["targets"] == [ZEN4, "sim-zen4-96t"]
    assert introduced["fingerprint"].startswith("simulated:zen4:")
    assert introduced["facts"]["simulated"] is True
    assert introduced["generator"] == GENERATOR


def test_all_workers_are_one_machine_and_share_the_work(service):
    for _ in range(6):
        service.offer(PROGRAM, [PLAIN], target=ZEN4)
    with working(service, count=3, noise=0.1):
        service.wait_for(lambda: len(service.results) == 6)
    assert sorted(e["name"] for e in service.enrolments) == ["sim-1", "sim-2", "sim-3"]
    assert len({e["fingerprint"] for e in service.enrolments}) == 1


def test_a_lost_connection_drops_the_lease_once_and_comes_back(service):
    first = service.offer(PROGRAM, [PLAIN, SPLIT], target=ZEN4)
    with working(service, faults=read_faults("disconnect=1")):
        service.wait_for(lambda: len(service.enrolments) == 2)
        service.wait_for(lambda: service.beats and service.beats[-1] == [])
        assert service.results == {}
        # A service gives the candidates out again, under another lease.
        with service.changed:
            (given,) = [g for g in service.granted.values() if g]
            given = {**given, "lease_id": "again", "items": given["items"][:1]}
            service.pending.append(given)
            service.changed.notify_all()
        service.wait_for(lambda: list(service.results) == ["c0"])
    assert given["lease_id"] != first
    assert service.results["c0"].outcome == "ok"
    assert service.handed_in["c0"] == 1


def test_latency_passes_and_a_drain_does_not_wait_for_it(service):
    service.offer(PROGRAM, [PLAIN], target=ZEN4)
    service.offer(PROGRAM, [PLAIN], target=ZEN4)
    with working(service, latency=1000.0) as workers:
        service.wait_for(lambda: len(service.beats) > 1)
        before = time.monotonic()
        workers.drain.set()
    assert time.monotonic() - before < 20
    assert service.results == {}


def test_a_cancelled_lease_ends(service):
    lease = service.offer(PROGRAM, [PLAIN], target=ZEN4)
    with working(service, latency=1000.0):
        service.wait_for(lambda: any(lease in beat for beat in service.beats))
        with service.changed:
            service.cancel.add(lease)
            # The one worker takes up another lease, so it has left this one.
            second = service.offer(PROGRAM, [PLAIN], target=ZEN4)
        service.wait_for(lambda: any(second in beat for beat in service.beats))
    assert service.results == {}


def test_what_one_worker_cannot_get_over_ends_all(service):
    service.refuse["enrol"] = [(401, {"title": "unauthorized", "detail": "no such token"})] * 2
    with pytest.raises(Unauthorized, match="no such token"):
        run(service.url, TOKEN, "sim", Fleet(Device(machine=MACHINES["zen4"]), 2))


def test_fewer_threads_may_be_served_and_no_more_than_there_are_cores():
    device = Device(machine=MACHINES["zen4"])
    assert Fleet(device).served() == [ZEN4, "sim-zen4-96t"]
    assert Fleet(device, targets=("sim-zen4-8t",)).served() == ["sim-zen4-8t"]
    for other in ("sim-zen4-97t", "sim-zen2-1t", "cpu-avx512-1t"):
        with pytest.raises(TargetError, match=f"zen4 has no target {other}; it has: {ZEN4}"):
            Fleet(device, targets=(other,)).served()
    assert Fleet(Device(machine=MACHINES["a100"])).served() == ["sim-a100"]


@pytest.mark.parametrize("count", [0, 257])
def test_too_few_and_too_many_workers_are_refused(count):
    with pytest.raises(WorkerError, match="run 1 to 256"):
        Fleet(Device(machine=MACHINES["zen4"]), count).served()
