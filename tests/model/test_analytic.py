"""The machine model ranks what everybody knows."""

import numpy as np
import pytest

from tests.features.concrete import features_of
from tests.space.programs import operator
from tuner.features.table import FEATURES
from tuner.model import analytic
from tuner.model.machine import GENERIC_CPU, MACHINES
from tuner.schedule.apply import apply
from tuner.space.build import space_of
from tuner.target import target

AVX512 = target("cpu-avx512-1t")


def score(**values):
    program = operator("matmul", m=512, n=512, k=512)
    sketch = space_of(program, AVX512).sketches[0]
    point = {k.name: k.values[0] for k in sketch.knobs} | {f"n0.{k}": v for k, v in values.items()}
    row = features_of(program, apply(program, sketch.steps(point)), AVX512)
    return analytic.scores(row[None, :])[0]


def test_a_register_tile_beats_a_row_of_it():
    assert score(vectors=2, rows=14) > score(vectors=2, rows=1) + 1


def test_too_few_accumulators_wait():
    assert score(vectors=1, rows=14) > score(vectors=1, rows=2) + 0.5


def test_vectors_along_memory_beat_vectors_across():
    program = operator("matmul", m=512, n=512, k=512)
    along, across = space_of(program, AVX512).sketches
    rows = []
    for sketch in (along, across):
        best = max(
            analytic.scores(features_of(program, apply(program, sketch.steps(p)), AVX512)[None])[0]
            for p in (
                {k.name: k.values[0] for k in sketch.knobs} | {"n0.vectors": 2, "n0.rows": r}
                for r in (6, 8, 12)
            )
        )
        rows.append(best)
    assert rows[0] > rows[1]


def test_a_ragged_tail_costs_what_its_elements_take_without_vectors():
    whole = np.zeros((1, len(FEATURES)))
    for name, value in (("cycles_compute", 1e6), ("main_lanes", 16.0),
                        ("main_arithmetic_share", 0.9)):  # fmt: skip
        whole[0, list(FEATURES).index(name)] = value
    half, all_ = whole.copy(), whole.copy()
    half[0, list(FEATURES).index("main_tail_share")] = 0.5
    all_[0, list(FEATURES).index("main_tail_share")] = 1.0
    slower = [analytic.cycles(table)[0] / 1e6 for table in (whole, half, all_)]
    share = 0.9 * 15 * GENERIC_CPU.ragged
    assert slower == pytest.approx([1.0, 1 + share / 2, 1 + share])


def test_simulated_machines_know_no_tails():
    assert GENERIC_CPU.ragged > 0
    assert {machine.ragged for machine in MACHINES.values()} == {0.0}


def test_scores_are_finite_for_an_empty_kernel():
    assert np.isfinite(analytic.scores(np.zeros((2, len(FEATURES))))).all()
