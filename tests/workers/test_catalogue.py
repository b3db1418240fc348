"""Every operator of the catalogue, from its text to kernels that the worker's check accepts."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from tests.codegen.native import call, inputs_for, targets_here, values
from tests.workers.conftest import QUICK
from tests.workload.references import CASES
from tuner.codegen.kernel import generate, generate_wide
from tuner.frontends.catalogue import program_for
from tuner.ir.interp import run
from tuner.ir.nodes import Program
from tuner.record import Outcome
from tuner.space.build import space_of
from tuner.workload.operator import Size
from tuner.workload.workload import admit
from workers.build import build
from workers.check import prepare
from workers.measure import Bench, measure
from workers.toolchain import Compiler

SAMPLED = 3
_MATMUL: dict[str, Size] = {"m": 5, "n": 19, "k": 33}
_CONV: dict[str, Size] = {"c": 3, "h": 6, "w": 5, "f": 17, "kh": 3, "kw": 3, "pad": 1}
NARROW = [
    *(("matmul", _MATMUL, dtype) for dtype in ("i32", "i8", "u8", "bf16")),
    ("conv2d", _CONV, "bf16"),
    ("dense", {**_MATMUL, "activation": "gelu"}, "bf16"),
    ("gelu_tanh", {"n": 101}, "bf16"),
    ("add", {"n": 101}, "bf16"),
    ("scale_shift", {"rows": 3, "cols": 37}, "bf16"),
    ("pad", {"rows": 3, "cols": 37, "pad": 2}, "bf16"),
    ("transpose", {"rows": 37, "cols": 19}, "bf16"),
    ("conv2d", {**_CONV, "layout": "nhwc"}, "u8"),
    ("dense", {**_MATMUL, "activation": "relu"}, "i8"),
    ("concat", {"rows": 3, "left": 5, "right": 37}, "u8"),
    ("embedding", {"n": 7, "rows": 5, "cols": 21}, "i16"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "sizes", "dtype"), [*((op, sizes, "f32") for op, sizes in CASES), *NARROW]
)
def test_sampled_schedules_are_right(
    op: str, sizes: dict[str, Size], dtype: str, compiler: Compiler, bench: Bench, tmp_path: Path
) -> None:
    program = admit(program_for(op, sizes, dtype)).program
    machine = targets_here()[0]
    space = space_of(program, machine)
    drawn = space.sample(np.random.default_rng(1), SAMPLED)
    schedules = {space.schedule(drawn, row) for row in range(len(drawn))}
    wide = generate_wide(program)
    sources = [wide, *(generate(program, schedule, machine) for schedule in schedules)]
    reference, *kernels = build(sources, compiler, tmp_path)
    checks = prepare(program, wide, reference, bench.runner, tmp_path)
    for kernel in kernels:
        assert not kernel.error
        _equals_the_interpreter(program, kernel.library, kernel.name)
        found = measure(kernel, checks, QUICK, bench)
        assert found.outcome is Outcome.OK, found.detail


def _equals_the_interpreter(program: Program, library: str, name: str) -> None:
    inputs = inputs_for(program)
    found = call(ctypes.CDLL(library), name, program, inputs)
    for output, wanted in run(program, inputs).items():
        buffer = program.buffer(output)
        tolerance = max(3e-5, 2 * buffer.dtype.unit_roundoff) if buffer.dtype.is_float else 0
        results = (values(a, buffer) for a in (found[output], wanted))
        np.testing.assert_allclose(*results, rtol=tolerance, atol=min(tolerance, 3e-5))
