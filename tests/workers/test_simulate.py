"""Simulated devices: times that follow from names, noise of a stated size, faults as ordered."""

from __future__ import annotations

import numpy as np
import pytest

from tests.space.programs import operator
from tuner.codegen.kernel import GENERATOR, generate
from tuner.features.table import FEATURES, features
from tuner.ir.canonical import workload_hash
from tuner.ir.show import show
from tuner.model import analytic
from tuner.model.machine import MACHINES, machine_of
from tuner.record import Outcome, Purpose, Timing
from tuner.schedule.steps import Split, schedule_to_json
from tuner.space.build import space_of
from tuner.target import target
from workers.playoff import MIN_SAMPLES
from workers.simulate.device import Device, Trial
from workers.simulate.faults import NO_FAULTS, SLOW_FACTOR, Fault, FaultsError, read_faults
from workers.simulate.truth import simulated_seconds, true_seconds

ZEN4 = target("sim-zen4-1t")
MATMUL = operator("matmul", m=64, n=64, k=64)
SPACE = space_of(MATMUL, ZEN4)
POINTS = SPACE.sample(np.random.default_rng(0), 12)
SCHEDULES = [SPACE.schedule(POINTS, row) for row in range(len(POINTS))]


def trial(schedule=SCHEDULES[0], purpose=Purpose.SEARCH, **timing):
    return Trial(
        workload=workload_hash(MATMUL), program=show(MATMUL), hardware=ZEN4,
        steps=schedule_to_json(schedule), purpose=purpose, timing=Timing(**timing),
    )  # fmt: skip


def device(**changes):
    return Device(machine=MACHINES["zen4"], **{"quick": True} | changes)


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_symbolic_features_give_the_same_time_as_the_scheduled_program(name):
    hardware = MACHINES[name].target
    space = space_of(MATMUL, hardware)
    points = space.sample(np.random.default_rng(1), 4)
    all_at_once = true_seconds(features(MATMUL, space, points, hardware), hardware, 3)
    for row, seconds in enumerate(all_at_once):
        assert simulated_seconds(MATMUL, space.schedule(points, row), hardware, 3) == seconds
    assert np.isfinite(all_at_once).all()
    assert (all_at_once > 0).all()


@pytest.mark.parametrize("name", ["sim-zen4-1t", "sim-graviton4-8t", "sim-h100"])
def test_no_schedule_beats_the_peak(name):
    hardware = target(name)
    program = operator("matmul", m=256, n=256, k=256)
    space = space_of(program, hardware)
    points = space.sample(np.random.default_rng(2), 500)
    seconds = true_seconds(features(program, space, points, hardware), hardware, 0)
    peaks = machine_of(hardware).peaks(hardware, 3 * 4 * 256 * 256)
    assert 2 * 256**3 / seconds.min() < peaks.flops_per_s


@pytest.mark.parametrize(
    ("column", "factor"),
    # fewer blocks, less than a warp, threads that read apart, pages that miss
    [("blocks", 1 / 8), ("block_threads", 1 / 8), ("main_thread_stride", 16), ("main_pages", 1e4)],
)
def test_a_gpu_feels_what_the_prior_does_not_know(column, factor):
    a100 = MACHINES["a100"].target
    names = list(FEATURES)
    program = operator("matmul", m=512, n=512, k=512)
    space = space_of(program, a100)
    table = features(program, space, space.sample(np.random.default_rng(4), 200), a100)
    usual = table[np.argmin(true_seconds(table, a100, 0))]
    changed = usual.copy()
    changed[names.index(column)] *= factor
    seconds = true_seconds(np.stack([usual, changed]), a100, 0)
    assert seconds[1] > 1.1 * seconds[0]


def test_the_prior_ranks_well_and_not_perfectly():
    program = operator("matmul", m=256, n=256, k=256)
    space = space_of(program, ZEN4)
    table = features(program, space, space.sample(np.random.default_rng(3), 1000), ZEN4)
    guessed = analytic.scores(table)
    seconds = true_seconds(table, ZEN4, 0)
    ranks = [np.argsort(np.argsort(v)) for v in (-guessed, seconds)]
    assert 0.6 < np.corrcoef(*ranks)[0, 1] < 0.99


def test_seeds_and_machines_are_different_devices():
    first = simulated_seconds(MATMUL, SCHEDULES[0], ZEN4, 0)
    assert simulated_seconds(MATMUL, SCHEDULES[0], ZEN4, 0) == first
    assert simulated_seconds(MATMUL, SCHEDULES[0], ZEN4, 1) != first
    names = {Device(machine=m, seed=s).fingerprint for m in MACHINES.values() for s in (0, 1)}
    assert len(names) == 2 * len(MACHINES)


def test_a_measurement_says_that_it_is_simulated_and_carries_the_sum_of_the_source():
    found = device(quick=False).measure(trial())
    source = generate(MATMUL, SCHEDULES[0], ZEN4)
    assert found.outcome is Outcome.OK
    assert found.compiler == "simulated zen4, seed 0, noise 0"
    assert device().fingerprint.startswith("simulated:zen4:seed-0:")
    assert device().facts["simulated"] is True
    assert (found.source_sha256, found.generator) == (source.sha256, GENERATOR)
    assert found.flags == " ".join(source.flags)
    assert set(found.samples_s) == {simulated_seconds(MATMUL, SCHEDULES[0], ZEN4, 0)}


def test_a_quick_device_makes_code_for_the_play_off_only():
    assert device().measure(trial()).source_sha256 == ""
    assert device().measure(trial(purpose=Purpose.PLAYOFF)).source_sha256 != ""


def test_measuring_again_gives_the_same_and_another_purpose_does_not():
    noisy = device(noise=0.1)
    once = noisy.measure(trial())
    assert noisy.measure(trial()) == once
    assert noisy.measure(trial(SCHEDULES[1])).samples_s != once.samples_s
    confirmed = noisy.measure(trial(purpose=Purpose.CONFIRM))
    assert confirmed.samples_s[:3] != once.samples_s[:3]


@pytest.mark.parametrize("sigma", [0.01, 0.05, 0.2])
def test_noise_is_log_normal_of_the_stated_size(sigma):
    noisy, logs = device(noise=sigma), []
    for number in range(300):
        schedule = (Split("l0", 8, f"outer{number}", f"inner{number}"),)
        found = noisy.measure(trial(schedule, min_total_s=0.0)).samples_s
        logs.append(np.log(np.array(found) / simulated_seconds(MATMUL, schedule, ZEN4, 0)))
    assert np.mean(logs) == pytest.approx(0.0, abs=0.15 * sigma)
    assert np.std(logs) == pytest.approx(sigma, rel=0.1)
    # Half of the variance is common to the samples of a trial.
    assert np.std(np.mean(logs, axis=1)) == pytest.approx(sigma * np.sqrt(2 / 3), rel=0.15)


def test_leaders_of_a_play_off_have_their_moments_in_common():
    noisy = device(noise=0.1)
    first, second = (
        np.log(noisy.measure(trial(s, Purpose.PLAYOFF, min_samples=100)).samples_s[:100])
        for s in SCHEDULES[:2]
    )
    assert np.corrcoef(first, second)[0, 1] == pytest.approx(0.5, abs=0.2)


def test_samples_are_taken_as_the_runner_takes_them():
    seconds = simulated_seconds(MATMUL, SCHEDULES[0], ZEN4, 0)
    found = device().measure(trial(min_sample_s=10.5 * seconds, min_total_s=99 * seconds))
    assert found.calls_per_sample == 11
    assert len(found.samples_s) == 9
    assert len(device().measure(trial(max_samples=4, min_total_s=9.0)).samples_s) == 4
    slow = trial(min_total_s=9.0, incumbent_s=seconds / 4)
    assert len(device().measure(slow).samples_s) == 3
    played = trial(purpose=Purpose.PLAYOFF, min_total_s=0.0)
    assert len(device().measure(played).samples_s) == MIN_SAMPLES


def test_an_illegal_schedule_is_refused_with_the_reason():
    found = device().measure(trial((Split("nowhere", 8, "i0", "i1"),)))
    assert found.outcome is Outcome.REFUSED
    assert "nowhere" in found.detail
    assert found.samples_s == ()


def test_what_takes_too_long_is_a_timeout():
    seconds = simulated_seconds(MATMUL, SCHEDULES[0], ZEN4, 0)
    found = device().measure(trial(limit_s=5 * seconds))
    assert found.outcome is Outcome.TIMEOUT


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [("crash", Outcome.CRASH), ("hang", Outcome.TIMEOUT), ("wrong", Outcome.WRONG_RESULT)],
)
def test_a_fault_is_its_outcome(fault, outcome):
    found = device(faults=read_faults(f"{fault}=1")).measure(trial())
    assert found.outcome is outcome
    assert "simulated fault" in found.detail
    assert found.median_s is None


def test_a_slow_trial_takes_three_times_as_long():
    usual = device().measure(trial())
    slow = device(faults=read_faults("slow=1")).measure(trial())
    assert slow.outcome is Outcome.OK
    assert slow.median_s == pytest.approx(SLOW_FACTOR * usual.median_s)


def test_faults_come_as_often_as_they_are_ordered_and_not_by_chance():
    faulty = device(faults=read_faults("crash=0.2, wrong=0.1,disconnect=0.3"))
    trials = [trial((Split("l0", 8, f"outer{n}", f"inner{n}"),)) for n in range(600)]
    drawn = [faulty.fault(t) for t in trials]
    assert [faulty.fault(t) for t in trials] == drawn
    for fault, rate in faulty.faults.rates:
        assert drawn.count(fault) / len(drawn) == pytest.approx(rate, abs=0.06)
    assert drawn.count(Fault.HANG) == drawn.count(Fault.SLOW) == 0


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("crush=0.1", "no fault 'crush'; there are: crash, hang, wrong, slow, disconnect"),
        ("crash", "'crash': expected crash=SHARE"),
        ("crash=often", "'crash=often': expected crash=SHARE with a share of trials from 0 to 1"),
        ("crash=1.5", "'crash=1.5': expected"),
        ("crash=nan", "'crash=nan': expected"),
        ("crash=0.1,crash=0.2", "crash is there twice"),
        ("crash=0.7,hang=0.7", "the shares add up to 1.4"),
    ],
)
def test_a_bad_specification_is_refused_with_what_could_stand_there(spec, words):
    with pytest.raises(FaultsError) as refused:
        read_faults(spec)
    assert words in str(refused.value)


def test_a_specification_reads_as_it_is_written():
    assert str(read_faults(" crash=0.01, slow=0.05")) == "crash=0.01,slow=0.05"
    assert read_faults("") == NO_FAULTS


def test_latency_is_a_share_of_what_hardware_takes():
    real, half = device(latency=1.0), device(latency=0.5)
    timed = real.measure(trial(min_total_s=0.5))
    assert timed.timing_s == pytest.approx(sum(timed.samples_s) * timed.calls_per_sample)
    assert timed.timing_s > 0.5
    for name in ("build_s", "check_s", "timing_s"):
        spent = getattr(timed, name)
        assert getattr(half.measure(trial(min_total_s=0.5)), name) == pytest.approx(spent / 2)
        assert getattr(device().measure(trial()), name) == 0
    hung = device(latency=1.0, faults=read_faults("hang=1")).measure(trial(limit_s=7.0))
    assert hung.timing_s == 7.0
