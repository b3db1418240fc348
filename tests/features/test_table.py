"""Features: one numpy pass, equal to those of the scheduled program, finite, point by point."""

import numpy as np
import pytest

from tests.features.concrete import HARDWARE, WORKLOADS, draws, features_of
from tests.space.programs import operator
from tuner.features.table import FEATURES, features
from tuner.schedule.apply import apply
from tuner.space.build import space_of
from tuner.target import target

AVX512 = target("cpu-avx512-1t")
NAMES = list(FEATURES)
COLUMN = {name: i for i, name in enumerate(FEATURES)}


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_features_equal_those_of_the_scheduled_program(name):
    program = WORKLOADS[name]
    for hardware in HARDWARE:
        for space, points, scheduled in draws(program, hardware, 1):
            table = features(program, space, points, hardware)
            assert table.shape == (len(points), len(FEATURES))
            assert np.isfinite(table).all()
            for row, one in enumerate(scheduled):
                differing = np.flatnonzero(table[row] != features_of(program, one, hardware))
                assert not len(differing), (
                    f"{hardware.name} {space.values(points, row)}: "
                    f"{[NAMES[column] for column in differing]}"
                )


def test_a_point_has_its_features_whatever_stands_beside_it():
    program = operator("matmul", m=96, n=96, k=96)
    space = space_of(program, AVX512)
    points = space.sample(np.random.default_rng(0), 200)
    together = features(program, space, points, AVX512)
    alone = features(program, space, points.take(np.array([17, 3])), AVX512)
    np.testing.assert_array_equal(together[[17, 3]], alone)


def matmul_row(program=None, **values):
    program = program or operator("matmul", m=64, n=64, k=64)
    space = space_of(program, AVX512)
    sketch = space.sketches[0]
    point = {k.name: k.values[0] for k in sketch.knobs} | {f"n0.{k}": v for k, v in values.items()}
    scheduled = apply(program, sketch.steps(point))
    row = features_of(program, scheduled, AVX512)
    return {name: row[i] for name, i in COLUMN.items()}


def test_known_numbers_of_a_register_tile():
    row = matmul_row(vectors=2, rows=8, unroll=2)
    assert row["main_accumulators"] == 16
    # two registers for the vectors, one for the row operand
    assert row["main_registers"] == 19
    assert row["main_statements"] == 32
    assert row["main_lanes"] == 16
    # of 32 multiply-adds: 4 vectors and 16 row elements
    assert row["main_loads_per_arithmetic"] == 20 / 32
    assert row["waste"] == 1.0
    assert row["main_arithmetic_share"] == 1.0


def test_waste_of_a_tile_that_does_not_divide():
    assert matmul_row(vectors=2, rows=24)["waste"] == 72 / 64


def test_guards_let_pass_what_the_program_does():
    row = matmul_row(operator("matmul", m=70, n=70, k=64), vectors=1, rows=24)
    assert row["executed_flops"] == 2 * 70 * 70 * 64
    assert row["flops"] == 2 * 72 * 80 * 64
    assert row["main_executed_share"] == 70 * 70 / (72 * 80)
    assert row["main_tail_share"] == 6 / 70


def test_flops_are_the_programs():
    row = matmul_row(vectors=1, rows=1)
    assert row["flops"] == 2 * 64**3


def test_packing_moves_bytes_and_makes_buffers():
    plain, packed = matmul_row(vectors=2), matmul_row(vectors=2, pack1=1)
    assert packed["buffers_made"] - plain["buffers_made"] == 64 * 64 * 4
    assert packed["rest_traffic_l1"] > plain["rest_traffic_l1"]


def test_a_tile_too_large_for_a_cache_is_loaded_again():
    program = operator("matmul", m=512, n=512, k=512)
    narrow = matmul_row(program, vectors=1, rows=2)
    wide = matmul_row(program, vectors=2, rows=14)
    assert narrow["main_traffic_l1"] > 3 * wide["main_traffic_l1"]


def test_rows_a_power_of_two_apart_share_sets():
    aliased = matmul_row(operator("matmul", m=64, n=64, k=1024), rows=16)
    spread = matmul_row(operator("matmul", m=64, n=64, k=1040), rows=16)
    assert aliased["main_aliased"] > 4 * spread["main_aliased"]


def test_every_feature_has_a_unit_and_a_meaning():
    assert len(FEATURES) >= 64
    assert all(feature.unit and feature.meaning for feature in FEATURES.values())
