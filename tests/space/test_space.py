"""What rules make of programs: every point is legal, means the same, and is found again."""

import random
from itertools import pairwise

import numpy as np
import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.random_programs import random_program
from tests.space.programs import COLUMN_SUMS, PROGRAMS, canonical, operator
from tuner.dtypes import F32
from tuner.features.table import features
from tuner.ir.canonical import canonicalize
from tuner.ir.nodes import Buffer, Const, Program, Store
from tuner.schedule.apply import apply
from tuner.schedule.steps import (
    CacheWrite,
    ComputeAt,
    DecomposeReduction,
    Pack,
    Reorder,
    Split,
    Unroll,
    Vectorize,
)
from tuner.space.build import MAX_SKETCHES, space_of
from tuner.space.knobs import columns
from tuner.target import target

AVX512 = target("cpu-avx512-1t")
NAMES = sorted(PROGRAMS)


def kinds(schedule):
    return {type(step) for step in schedule}


@pytest.mark.parametrize("hardware", ["cpu-avx512-1t", "cpu-avx2-1t", "cpu-sse2-1t", "cpu-sse2-4t"])
@pytest.mark.parametrize("name", NAMES)
def test_every_sampled_schedule_applies(name, hardware):
    space = space_of(PROGRAMS[name], target(hardware))
    drawn = space.sample(np.random.default_rng(1), 24)
    for row in range(len(drawn)):
        apply(PROGRAMS[name], space.schedule(drawn, row))


@pytest.mark.parametrize("hardware", ["cpu-sse2-1t", "cpu-sse2-4t"])
@pytest.mark.parametrize("name", [n for n in NAMES if n != "softmax"])
def test_schedules_keep_the_meaning(name, hardware):
    space = space_of(PROGRAMS[name], target(hardware))
    drawn = space.sample(np.random.default_rng(2), 3)
    for row in range(len(drawn)):
        # Sums of products of small integers are exact in any order.
        assert_same(PROGRAMS[name], space.schedule(drawn, row), rtol=1e-6)


def test_schedules_of_softmax_keep_the_meaning():
    space = space_of(PROGRAMS["softmax"], AVX512)
    drawn = space.sample(np.random.default_rng(2), 3)
    for row in range(len(drawn)):
        assert_same(PROGRAMS["softmax"], space.schedule(drawn, row), rtol=1e-5)


@pytest.mark.parametrize("hardware", [AVX512, target("cpu-avx512-4t")], ids=lambda t: t.name)
@pytest.mark.parametrize("name", NAMES)
def test_a_schedule_is_recovered(name, hardware):
    space = space_of(PROGRAMS[name], hardware)
    drawn = space.sample(np.random.default_rng(3), 30)
    for row in range(len(drawn)):
        found = space.recover(space.schedule(drawn, row))
        assert found is not None
        assert found.keys() == drawn.take(np.array([row])).keys()


def test_a_foreign_schedule_is_not_recovered():
    space = space_of(PROGRAMS["matmul"], AVX512)
    schedule = space.schedule(space.sample(np.random.default_rng(0), 1), 0)
    assert space.recover((*schedule, Vectorize("l0"))) is None
    assert space.recover(schedule[:-1]) is None
    assert space.recover(()) is None


@pytest.mark.parametrize("name", NAMES)
def test_mutation_and_crossover_stay_legal(name):
    space = space_of(PROGRAMS[name], AVX512)
    rng = np.random.default_rng(4)
    parents = space.sample(rng, 300)
    children = space.mutate(rng, parents)
    crossed = space.cross(rng, parents, children)
    for population in (children, crossed):
        assert len(population) == 300
        for index, sketch in enumerate(space.sketches):
            assert sketch.holds(population.choice[population.sketch == index]).all()


def test_mutation_moves_most_points_a_little():
    space = space_of(PROGRAMS["matmul"], AVX512)
    rng = np.random.default_rng(5)
    parents = space.sample(rng, 500)
    children = space.mutate(rng, parents)
    stays = children.sketch == parents.sketch
    changed = (children.choice[stays] != parents.choice[stays]).sum(axis=1)
    assert np.median(changed) <= 2
    assert (changed > 0).mean() > 0.5


def test_sampling_repeats_with_its_seed():
    space = space_of(PROGRAMS["conv2d"], AVX512)
    one = space.sample(np.random.default_rng(6), 50)
    two = space.sample(np.random.default_rng(6), 50)
    assert one.keys() == two.keys()


def test_names_and_loop_order_do_not_matter():
    one, two = (space_of(PROGRAMS[n], AVX512) for n in ("matmul", "renamed"))
    assert one.size == two.size
    assert [s.name for s in one.sketches] == [s.name for s in two.sketches]
    assert [s.knobs for s in one.sketches] == [s.knobs for s in two.sketches]


def test_matmul_is_tiled_both_ways():
    space = space_of(operator("matmul", m=48, n=64, k=32), AVX512)
    assert [s.name for s in space.sketches] == [
        "contraction 0: vectors of axis 1, rows of axis 0",
        "contraction 0: vectors of axis 0, rows of axis 1",
    ]


def test_start_values_apart_are_a_contraction_too():
    space = space_of(PROGRAMS["apart"], AVX512)
    assert all("contraction 1" in s.name for s in space.sketches)


def test_a_consumer_is_fused_or_left_alone():
    names = [s.name for s in space_of(PROGRAMS["dense_relu"], AVX512).sketches]
    assert any("1 consumers inside" in n for n in names)
    assert any("row-wise 1: map" in n for n in names)


def test_a_chain_of_consumers_is_fused_whole():
    space = space_of(PROGRAMS["chain"], AVX512)
    fused = next(s for s in space.sketches if "2 consumers inside" in s.name)
    steps = fused.steps({k.name: k.values[0] for k in fused.knobs})
    assert [s.buffer for s in steps if isinstance(s, ComputeAt)] == ["b5", "b4"]


def test_padding_is_always_packed():
    space = space_of(PROGRAMS["conv2d"], AVX512)
    drawn = space.sample(np.random.default_rng(0), 30)
    for row in range(30):
        assert "b0" in {s.buffer for s in space.schedule(drawn, row) if isinstance(s, Pack)}


def test_a_blocked_reduction_loads_its_tile():
    space = space_of(operator("matmul", m=32, n=64, k=128), AVX512)
    sketch = space.sketches[0]
    plain = {k.name: k.values[0] for k in sketch.knobs}
    blocked = plain | {"n0.block": 64}
    for values, loads in ((plain, False), (blocked, True)):
        (cache,) = (s for s in sketch.steps(values) if isinstance(s, CacheWrite))
        assert bool(cache.load_loops) == loads


@pytest.mark.parametrize("name", ["depthwise", "max_pool", "column_sums"])
def test_other_accumulations_keep_vectors_of_the_output_in_registers(name):
    space = space_of(PROGRAMS[name], AVX512)
    assert [s.name for s in space.sketches] == [
        "accumulation 0: vectors along the output, in registers"
    ]
    schedule = space.schedule(space.sample(np.random.default_rng(0), 1), 0)
    assert {CacheWrite, DecomposeReduction, Vectorize} <= kinds(schedule)


def test_a_short_output_gets_short_vectors():
    program = operator("depthwise_conv2d", c=3, h=7, w=7, kh=3, kw=3, pad=1)
    (sketch,) = space_of(program, AVX512).sketches
    (vector,) = {s.factor for s in sketch.steps({"n0.group": 2, "n0.unroll": 0})
                 if isinstance(s, Split) and s.inner.endswith("v")}  # fmt: skip
    assert vector == 4


def test_rows_that_lie_apart_are_folded_not_gathered():
    program = canonical(COLUMN_SUMS.replace("x[k, i]", "x[i, k]").replace("[9, 37]", "[37, 9]"))
    assert all("accumulation" not in s.name for s in space_of(program, AVX512).sketches)


def test_guards_and_choices_do_not_keep_rows_from_vectors():
    assert space_of(PROGRAMS["pad"], AVX512).sketches[0].name == "row-wise 0: map"
    assert space_of(PROGRAMS["argmax"], AVX512).sketches[0].name == "row-wise 0: fold, fold"


def test_a_transposition_is_done_in_blocks_of_both_loops():
    (sketch,) = space_of(PROGRAMS["transpose"], AVX512).sketches
    assert sketch.name == "transposed 0: blocks of both loops"
    values = {"n0.across": 8, "n0.along": 16, "n0.swap": 1, "n0.vectors": 1}
    steps = sketch.steps(values)
    assert steps[:3] == (
        Split("l1", 8, "l1o", "l1t"),
        Split("l0", 16, "l0o", "l0t"),
        Reorder(("l0o", "l1o", "l1t", "l0t")),
    )
    assert Vectorize("l0v") in steps


def test_a_block_may_be_of_squares_that_are_transposed_in_registers():
    (sketch,) = space_of(PROGRAMS["transpose"], AVX512).sketches
    values = {"n0.across": 16, "n0.along": 32, "n0.swap": 0, "n0.vectors": 2}
    steps = sketch.steps(values)
    assert steps[-3:] == (
        Reorder(("l1u", "l0u", "l1v", "l0v")),
        Vectorize("l0v"),
        Unroll("l1v"),
    )
    assert sketch.recover(steps) == values


def test_blocks_are_of_whole_vectors_and_squares():
    (sketch,) = space_of(PROGRAMS["transpose"], AVX512).sketches
    values = columns(sketch.knobs, sketch.points[0])
    assert (values["n0.along"][values["n0.vectors"] > 0] % 16 == 0).all()
    assert set(values["n0.across"][values["n0.vectors"] == 2]) == {16}
    assert set(values["n0.along"]) == {8, 16, 32}


def test_a_program_with_nothing_to_decide_has_one_point():
    space = space_of(PROGRAMS["smallest"], AVX512)
    assert (space.size, space.sketches[0].name) == (1, "as is")
    assert space.schedule(space.sample(np.random.default_rng(0), 1), 0) == ()


def test_a_bare_store_has_one_point():
    y = Buffer("b0", F32, (1,))
    bare = Program("program", (y,), (), (Store("b0", (Const(0),), Const(1.0, F32)),))
    assert space_of(bare, AVX512).size == 1


def test_a_loop_that_carries_a_value_is_left_alone():
    program = canonical("""def f(x: f32[64], y: f32[65]):
    y[0] = 0.0
    for i in range(64):
        y[i + 1] = y[i] + x[i]
""")
    assert space_of(program, AVX512).size == 1


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_have_legal_points(seed):
    program = canonicalize(random_program(random.Random(seed)))[0]
    space = space_of(program, target("cpu-sse2-1t"))
    drawn = space.sample(np.random.default_rng(seed), 2)
    assert np.isfinite(features(program, space, drawn, AVX512)).all()
    for row in range(2):
        apply(program, space.schedule(drawn, row))


def test_many_nests_have_not_too_many_sketches():
    lines = ["def f(a: f32[32, 32], z: f32[32, 32]):"]
    names = ["a", *(f"t{n}" for n in range(11)), "z"]
    lines += [f"    {name} = buffer(f32[32, 32])" for name in names[1:-1]]
    for before, after in pairwise(names):
        lines += [
            "    for i, j in grid(32, 32):", f"        {after}[i, j] = 0.0",
            "        for k in range(32):", f"            {after}[i, j] += {before}[i, k] * a[k, j]",
        ]  # fmt: skip
    program = canonical("\n".join(lines) + "\n")
    space = space_of(program, AVX512)
    assert 1 < len(space.sketches) <= MAX_SKETCHES
    apply(program, space.schedule(space.sample(np.random.default_rng(0), 1), 0))


@pytest.mark.parametrize("hardware", ["cpu-avx512-1t", "cpu-avx2-1t", "cpu-sse2-1t"])
def test_register_tiles_fit(hardware):
    chip = target(hardware)
    space = space_of(operator("matmul", m=512, n=512, k=512), chip)
    for sketch in space.sketches:
        (points,) = sketch.points
        values = columns(sketch.knobs, points)
        rows, vectors = values["n0.rows"], values["n0.vectors"]
        assert (rows * vectors + vectors + 1 <= chip.vector_registers).all()
