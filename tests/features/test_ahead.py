"""What is made of constants ahead costs nothing in a call, for points and for programs alike."""

from dataclasses import replace

import numpy as np
import pytest

from tests.features.concrete import features_of
from tests.space.programs import operator
from tests.workload.references import CASES
from tuner.features.ahead import in_each_call
from tuner.features.names import FEATURES
from tuner.features.nest import kernel_of
from tuner.features.table import features
from tuner.frontends.text import parse
from tuner.ir.visit import outputs
from tuner.lower.split_constants import split_constants
from tuner.schedule.apply import apply
from tuner.schedule.steps import Pack
from tuner.space.build import space_of
from tuner.target import target

HARDWARE = target("cpu-avx512-1t")
PACK = (Pack("b1", "p", "", ("1", "0"), ("u", "v")),)
COLUMN = {name: at for at, name in enumerate(FEATURES)}


def _constant(program):
    """The program with all its inputs but the first constant."""
    written, first = outputs(program), program.params[0].name
    params = (replace(b, const=b.name not in (*written, first)) for b in program.params)
    return replace(program, params=tuple(params))


@pytest.mark.parametrize("op", ["matmul", "dense", "conv2d", "batch_norm"])
def test_nests_in_each_call_are_those_of_the_main_program(op):
    program = _constant(operator(op, **next(sizes for name, sizes in CASES if name == op)))
    space = space_of(program, HARDWARE)
    points, ahead = space.sample(np.random.default_rng(3), 12), 0
    for row in range(len(points)):
        scheduled = apply(program, space.schedule(points, row))
        split = split_constants(scheduled)
        ahead += split.ahead is not None
        found = [nest.write.buffer for nest in in_each_call(kernel_of(scheduled)).nests]
        assert found == [nest.write.buffer for nest in kernel_of(split.main).nests]
    assert ahead or op == "batch_norm"


def test_features_of_points_are_those_of_scheduled_programs():
    program = _constant(operator("matmul", m=16, n=32, k=8))
    space = space_of(program, HARDWARE)
    points = space.sample(np.random.default_rng(5), 40)
    table = features(program, space, points, HARDWARE)
    for row in range(len(points)):
        scheduled = apply(program, space.schedule(points, row))
        assert (table[row] == features_of(program, scheduled, HARDWARE)).all()


def test_a_pack_of_a_constant_costs_nothing_in_a_call():
    plain = operator("matmul", m=16, n=32, k=8)
    constant = _constant(plain)
    packed, ahead, unpacked = (
        features_of(program, apply(program, steps), HARDWARE)
        for program, steps in ((plain, PACK), (constant, PACK), (constant, ()))
    )
    for name in ("stores", "rest_instructions", "nests"):
        assert ahead[COLUMN[name]] == unpacked[COLUMN[name]] < packed[COLUMN[name]], name


def test_devices_with_kernels_of_their_own_pack_in_each_call():
    device, plain = target("opencl-pocl"), operator("matmul", m=16, n=32, k=8)
    both = [features_of(p, apply(p, PACK), device) for p in (plain, _constant(plain))]
    assert (both[0] == both[1]).all()


@pytest.mark.parametrize("place", ["w[clamp(n[i], 0, 3)]", "w[i] if n[i] < 2 else w[0]"])
def test_what_depends_on_where_an_input_says_is_of_each_call(place):
    program = parse(
        "def f(x: f32[4], n: i64[4], w: const[f32[4]], y: f32[4]):\n"
        f"    p = buffer(f32[4])\n    for i in range(4):\n        p[i] = {place}\n"
        "    for j in range(4):\n        y[j] = x[j] + p[j]\n"
    )
    assert len(in_each_call(kernel_of(program)).nests) == 2
    assert split_constants(program).ahead is None
