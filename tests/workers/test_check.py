"""Data sets, tolerances, and what the check catches in the workloads that users start with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.workers.conftest import QUICK
from tests.workers.kernels import MATMUL
from tuner.codegen.kernel import generate, generate_wide
from tuner.dtypes import DTYPES
from tuner.frontends.text import parse
from tuner.ir.canonical import canonicalize
from tuner.ir.interp import run
from tuner.ir.nodes import Buffer, Program, Scope
from tuner.record import Outcome, Timing
from tuner.target import TARGETS
from tuner.workload.catalogue import program_text
from workers.build import build
from workers.check import CheckSet, data_set, narrowest_roundoff, prepare, tolerance
from workers.errors import NoReference, WorkerError
from workers.fingerprint import look
from workers.measure import Bench, measure
from workers.toolchain import Compiler

#: Unscheduled kernels are slow, and their times are of no interest.
ONCE = Timing(min_samples=1, min_total_s=0.0, limit_s=60.0)
SIZES: dict[str, dict[str, int | str]] = {
    "matmul": {"m": 512, "n": 512, "k": 512},
    "dense": {"m": 512, "n": 3072, "k": 768, "activation": "relu"},
    "conv2d": {"n": 1, "c": 64, "h": 56, "w": 56, "f": 64, "kh": 3, "kw": 3, "pad": 1},
    "softmax": {"rows": 512, "cols": 1024},
}
#: Each defect as replacements in the operator's text.
DEFECTS = {
    "matmul": {
        "dropped term": [("range(512)", "range(511)")],
        "stale tail": [("grid(512, 512)", "grid(512, 511)")],
        "swapped tile": [("c[i, j]", "c[(i + 16) % 512, j]")],
    },
    "dense": {
        "dropped term": [("range(768)", "range(767)")],
        "stale tail": [("grid(512, 3072)", "grid(511, 3072)")],
        "swapped tile": [("h[i, j] + b", "h[i, (j + 32) % 3072] + b")],
    },
    "conv2d": {
        "dropped term": [("grid(64, 3, 3)", "grid(63, 3, 3)")],
        "stale tail": [("grid(1, 64, 56, 56)", "grid(1, 64, 56, 55)")],
        "swapped tile": [("y[n, f, i, j]", "y[n, (f + 8) % 64, i, j]")],
    },
    "softmax": {
        "dropped term": [("range(1024):\n            total", "range(1023):\n            total")],
        "stale tail": [("range(1024):\n            y", "range(1023):\n            y")],
        "swapped tile": [("y[i, j] * inverse", "y[i, (j + 16) % 1024] * inverse")],
    },
}


def canonical(text: str) -> Program:
    return canonicalize(parse(text))[0]


@pytest.fixture(scope="module", params=list(SIZES))
def demo(
    request: pytest.FixtureRequest, compiler: Compiler, bench: Bench,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, CheckSet]:  # fmt: skip
    """An operator's name and its data sets."""
    folder = tmp_path_factory.mktemp(request.param)
    program = canonical(program_text(request.param, SIZES[request.param]))
    wide = generate_wide(program)
    made = prepare(program, wide, build([wide], compiler, folder)[0], bench.runner, folder)
    return request.param, made


@pytest.mark.parametrize("defect", [None, "dropped term", "stale tail", "swapped tile"])
def test_defects_are_caught(
    demo: tuple[str, CheckSet], defect: str | None, compiler: Compiler, bench: Bench, tmp_path: Path
) -> None:
    op, checks = demo
    text = program_text(op, SIZES[op])
    for old, new in DEFECTS[op][defect] if defect else ():
        assert old in text
        text = text.replace(old, new)
    hardware = TARGETS[look(compiler).targets[0]]
    built = build([generate(canonical(text), (), hardware)], compiler, tmp_path)[0]
    m = measure(built, checks, ONCE, bench)
    assert m.outcome is (Outcome.WRONG_RESULT if defect else Outcome.OK), m.detail
    if not defect:
        assert m.error_ratio is not None
        assert m.error_ratio < 1


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bf16"])
@pytest.mark.parametrize("which", [1, 2])
def test_data_sets_are_seeded_and_fit(dtype: str, which: int) -> None:
    buffer = Buffer("b0", DTYPES[dtype], (1000,), Scope.PARAM)
    data = data_set(buffer, which, 0)
    assert data.dtype == DTYPES[dtype].numpy
    assert np.array_equal(data, data_set(buffer, which, 0))
    assert not np.array_equal(data, data_set(buffer, which, 1))
    assert len(np.unique(data)) > 1
    if which == 1:
        wide = data.astype(np.float64)
        assert np.array_equal(wide, np.rint(wide))
        assert np.abs(wide).max() <= 4
        assert dtype == "bool" or wide.all()  # a zero would hide a lost term


def test_bf16_data_are_its_bits() -> None:
    bits = data_set(Buffer("b0", DTYPES["bf16"], (64,), Scope.PARAM), 1, 0)
    values = (bits.astype(np.uint32) << 16).view(np.float32)
    assert set(np.abs(values)) <= {1.0, 2.0, 3.0, 4.0}


def test_the_reference_is_the_interpreters(checks: CheckSet) -> None:
    """Both data sets, through the files that the runner compares with."""
    folder = Path(checks.spec).parent
    for which in (1, 2):
        x, w = (data_set(b, which, i) for i, b in enumerate(MATMUL.params[:2]))
        inputs = {b.name: v.reshape(b.shape) for b, v in zip(MATMUL.params, (x, w), strict=False)}
        expected = run(MATMUL, inputs)["b2"].ravel()
        want = np.fromfile(folder / f"b2.{which}")
        allowed = np.fromfile(folder / f"b2_mag.{which}")
        if which == 1:
            assert not allowed.any()
            assert np.array_equal(expected, want)
        else:
            assert (np.abs(expected - want) <= allowed).all()
            assert allowed.max() < 1e-3


def test_tolerance_is_the_stated_one() -> None:
    magnitude = np.array([1.0, 4.0])
    (one, four) = tolerance(MATMUL, DTYPES["f32"], magnitude, integers=False)
    assert one == pytest.approx(8 * 2.0**-24 * (41**0.5 + 8))
    assert four == pytest.approx(4 * one)
    assert not tolerance(MATMUL, DTYPES["f32"], magnitude, integers=True).any()
    beyond = tolerance(MATMUL, DTYPES["f32"], np.array([2.0**25]), integers=True)
    assert beyond[0] > 0
    fraction = tolerance(MATMUL, DTYPES["f32"], np.array([0.5]), integers=True)
    assert fraction[0] > 0


def test_the_narrowest_type_computed_in_counts() -> None:
    assert narrowest_roundoff(MATMUL) == 2.0**-24
    wide = parse("def f(x: f16[4], y: f64[4]):\n    for i in range(4):\n        y[i] = f64(x[i])")
    assert narrowest_roundoff(wide) == 0  # but for the store's, which is none here
    text = "def f(x: f32[4], y: bf16[4]):\n    for i in range(4):\n        y[i] = {}"
    assert narrowest_roundoff(parse(text.format("x[i] * 2.0"))) == 2.0**-24
    assert narrowest_roundoff(parse(text.format("f32(bf16(x[i])) * 2.0"))) == 2.0**-8


def test_an_output_of_a_narrower_type_is_rounded_once() -> None:
    text = "def f(x: f32[4], y: bf16[4]):\n    for i in range(4):\n        y[i] = x[i] * 2.0"
    program, magnitude = parse(text), np.array([1.0])
    (allowed,) = tolerance(program, DTYPES["bf16"], magnitude, integers=False)
    assert allowed == pytest.approx(2 * 2.0**-8 + 8 * 2.0**-24 * (1 + 8))
    assert not tolerance(program, DTYPES["bf16"], magnitude * 256, integers=True).any()
    assert tolerance(program, DTYPES["bf16"], magnitude * 257, integers=True).all()


INTEGERS = """
def program(b0: i32[40, 24], b1: i8[24], b2: i32[40]):
    for l0 in range(40):
        b2[l0] = 0
        for l1 in range(24):
            b2[l0] += b0[l0, l1] * i32(b1[l1])
"""


@pytest.mark.parametrize("defect", [False, True])
def test_integers_are_compared_by_their_bytes(
    compiler: Compiler, bench: Bench, tmp_path: Path, defect: bool
) -> None:
    program = canonical(INTEGERS)
    wide = generate_wide(program)
    checks = prepare(program, wide, build([wide], compiler, tmp_path)[0], bench.runner, tmp_path)
    tried = canonical(INTEGERS.replace("range(24)", "range(23)") if defect else INTEGERS)
    hardware = TARGETS[look(compiler).targets[0]]
    m = measure(build([generate(tried, (), hardware)], compiler, tmp_path)[0], checks, QUICK, bench)
    assert m.outcome is (Outcome.WRONG_RESULT if defect else Outcome.OK), m.detail
    assert ("b2[0] differs" in m.detail) == defect


def test_no_reference_says_why(compiler: Compiler, bench: Bench, tmp_path: Path) -> None:
    wide = generate_wide(MATMUL)
    built = build([wide], compiler, tmp_path)[0]
    broken = Path(built.library)
    broken.write_bytes(b"")
    with pytest.raises(NoReference, match="cannot be loaded"):
        prepare(MATMUL, wide, built, bench.runner, tmp_path)


def test_missing_data_are_the_workers_fault(
    compiler: Compiler, bench: Bench, tmp_path: Path
) -> None:
    """Not an outcome of the candidate, which is innocent."""
    hardware = TARGETS[look(compiler).targets[0]]
    built = build([generate(MATMUL, (), hardware)], compiler, tmp_path)[0]
    spec = tmp_path / "check.spec"
    spec.write_text("in b0 f32 100 nowhere.1 nowhere.2\n")
    with pytest.raises(WorkerError, match="missing or too short"):
        measure(built, CheckSet(str(spec), 0), QUICK, bench)
