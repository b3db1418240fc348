"""Whole jobs on a simulated device, in this process."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tune.jobs import Silence, workload
from tuner.features.table import features
from tuner.log import MemoryLog, RecordFilter
from tuner.model.machine import MACHINES
from tuner.record import Outcome, Purpose
from tuner.space.build import space_of
from tuner.tune import TuneJob, tune
from workers.simulate.bench import SimulatedBench
from workers.simulate.device import Device
from workers.simulate.faults import read_faults
from workers.simulate.truth import true_seconds

MATMUL = workload("matmul", m=48, n=48, k=48)


def tuned(device, log=None, trials=24, seed=0, id="job"):
    job = TuneJob(
        id=id, workloads=(MATMUL,), target=device.machine.target, trials=trials, seconds=60.0,
        strategy="evolutionary", seed=seed,
    )  # fmt: skip
    log = log or MemoryLog()
    bench = SimulatedBench(device, log, job.workloads, id)
    return tune(job, log, bench, Silence())[0], log


def searched(log):
    where = RecordFilter(purpose=Purpose.SEARCH)
    return [(r.steps, r.measurement.samples_s) for r in log.records(where)]


@pytest.mark.parametrize("name", ["zen4", "a100"])
def test_a_job_ends_with_a_best_that_is_served_with_its_source(name):
    device = Device(machine=MACHINES[name], noise=0.02)
    result, log = tuned(device)
    assert result.best is not None, result.reason
    assert result.best.target == device.machine.target.name
    assert result.best.fingerprint == device.fingerprint
    assert f"target {result.best.target}" in log.source(result.best.source_sha256)
    assert 0 < result.best.peak_share <= 1
    assert {r.worker for r in log.records(RecordFilter())} == {"simulated"}


def test_the_same_job_measures_the_same():
    device = Device(machine=MACHINES["zen2"], noise=0.05, quick=True)
    first, again = (searched(tuned(device)[1]) for _ in range(2))
    assert len(first) == 24
    assert first == again
    assert searched(tuned(device, seed=1)[1]) != first


def test_a_log_that_remembers_is_not_measured_twice():
    device = Device(machine=MACHINES["zen2"], quick=True)
    _, log = tuned(device)
    result, _ = tuned(device, log, id="again")
    steps = [str(steps) for steps, _ in searched(log)]
    assert len(set(steps)) == len(steps) >= 24
    assert result.best is not None


def test_faults_are_counted_and_the_search_goes_on():
    device = Device(
        machine=MACHINES["zen4"], quick=True, faults=read_faults("crash=0.2,wrong=0.2,hang=0.1")
    )
    result, log = tuned(device, trials=40)
    outcomes = [r.measurement.outcome for r in log.records(RecordFilter(purpose=Purpose.SEARCH))]
    assert {Outcome.CRASH, Outcome.WRONG_RESULT, Outcome.TIMEOUT} <= set(outcomes)
    assert sum(result.failures.values()) == len(outcomes) - outcomes.count(Outcome.OK)
    assert result.best is not None


def test_the_search_finds_what_is_nearly_the_best():
    device = Device(machine=MACHINES["graviton4"], quick=True)
    hardware = device.machine.target
    space = space_of(MATMUL.program, hardware)
    points = space.sample(np.random.default_rng(0), 5000)
    table = features(MATMUL.program, space, points, hardware)
    best = true_seconds(table, hardware, device.seed).min()
    assert tuned(device, trials=48)[0].best.median_s < 1.15 * best
