"""Machine models: what they name exists, and their limits are the published ones."""

import re

import numpy as np
import pytest

from tests.features.concrete import features_of
from tests.space.programs import operator
from tuner.errors import TargetError
from tuner.features.table import features
from tuner.model import analytic
from tuner.model.machine import GENERIC_CPU, MACHINES, machine, machine_of
from tuner.schedule.apply import apply
from tuner.space.build import space_of
from tuner.target import SIMULATED, TARGETS, target, with_threads


@pytest.mark.parametrize("model", MACHINES.values(), ids=lambda m: m.name)
def test_each_model_has_its_target_and_the_target_its_model(model):
    assert model.target.simulated
    assert machine_of(model.target) is model
    assert SIMULATED[model.target.name] is model.target


def test_no_simulated_target_is_without_a_model():
    assert {machine_of(t).name for t in SIMULATED.values()} == set(MACHINES)


@pytest.mark.parametrize("hardware", TARGETS.values(), ids=lambda t: t.name)
def test_real_targets_are_generic(hardware):
    assert not hardware.simulated
    assert machine_of(hardware) is GENERIC_CPU


def test_threads_keep_the_model():
    assert machine_of(target("sim-zen4-8t")) is MACHINES["zen4"]
    assert machine_of(with_threads(target("sim-zen4-1t"), 96)) is MACHINES["zen4"]


def test_an_unknown_machine_is_refused_with_those_that_exist():
    words = "unknown machine 'abacus'; there are: a100, graviton4, h100"
    with pytest.raises(TargetError, match=re.escape(words)):
        machine("abacus")


@pytest.mark.parametrize(
    ("name", "gflops"),
    # cores x FMA units x lanes x 2 x GHz, as on the data sheets
    [("skylake-x", 28 * 2 * 16 * 2 * 2.3), ("graviton4", 96 * 4 * 4 * 2 * 2.8),
     ("a100", 19491.8), ("h100", 66908.2), ("mi250x", 23936.0)],
)  # fmt: skip
def test_peaks_are_those_of_the_data_sheets(name, gflops):
    model = MACHINES[name]
    full = model.target if model.lanes > 1 else with_threads(model.target, model.cores)
    peaks = model.peaks(full, 1 << 30)
    assert peaks.flops_per_s == pytest.approx(gflops * 1e9, rel=1e-3)
    assert peaks.copy_bytes_per_s == model.memory_bytes_per_s


def test_copies_that_fit_into_a_cache_are_faster():
    zen4 = MACHINES["zen4"]
    rates = [zen4.peaks(zen4.target, size).copy_bytes_per_s for size in (1 << 16, 1 << 22, 1 << 28)]
    assert rates == [32 * 3.55e9, 32 * 3.55e9, 8 * 3.55e9]


def test_a_table_names_the_machine_of_each_row():
    """The model of a row is that of its target, whatever the rows around it."""
    program = operator("matmul", m=64, n=64, k=64)
    rows = []
    for hardware in (*TARGETS.values(), *SIMULATED.values(), target("sim-zen4-8t")):
        space = space_of(program, hardware)
        points = space.sample(np.random.default_rng(0), 3)
        rows.append(features(program, space, points, hardware))
        ((found, _),) = analytic.by_machine(rows[-1])
        assert found is machine_of(hardware), hardware.name
    together = analytic.scores(np.concatenate(rows))
    assert (together == np.concatenate([analytic.scores(some) for some in rows])).all()


def test_a_grid_keeps_lanes_busy_that_fills_warps_and_rounds():
    a100 = MACHINES["a100"]
    blocks, threads = np.array([108.0, 109.0, 54.0, 108.0]), np.array([64.0, 64.0, 64.0, 48.0])
    assert a100.busy(blocks, threads).tolist() == [1.0, 109 / 216, 0.5, 0.75]
    assert MACHINES["zen4"].busy(blocks, threads).tolist() == [1.0] * 4


def test_the_prior_of_a_machine_is_its_own():
    """A tile of 4 rows waits for its accumulations where two units begin more at once."""
    program = operator("matmul", m=256, n=256, k=256)
    scores = {}
    for name in ("zen4", "sapphire-rapids"):
        hardware = MACHINES[name].target
        sketch = space_of(program, hardware).sketches[0]
        for rows in (4, 8):
            point = {k.name: k.values[0] for k in sketch.knobs}
            point |= {"n0.vectors": 1, "n0.rows": rows}
            row = features_of(program, apply(program, sketch.steps(point)), hardware)
            scores[name, rows] = analytic.scores(row[None])[0]
    gain = {m: scores[m, 8] - scores[m, 4] for m in ("zen4", "sapphire-rapids")}
    assert gain["sapphire-rapids"] > gain["zen4"] + 0.2


def test_targets_of_one_family_differ_in_their_threads_only():
    names = ("sim-zen4-1t", "sim-zen4-96t", "cpu-avx2-8t", "sim-a100", "opencl-pocl")
    families = [target(name).family for name in names]
    assert families == ["sim-zen4", "sim-zen4", "cpu-avx2", "sim-a100", "opencl-pocl"]
