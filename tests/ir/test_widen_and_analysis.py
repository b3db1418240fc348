"""The wide form bounds the error of the native one; reductions are counted, exactness is seen."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tuner.dtypes import F32, F64
from tuner.frontends.catalogue import program_for
from tuner.frontends.text import parse
from tuner.ir.analysis import is_exact, longest_reduction
from tuner.ir.interp import run
from tuner.ir.nodes import Program
from tuner.ir.show import show
from tuner.ir.verify import verify
from tuner.ir.widen import widen

SMALL = [
    ("matmul", {"m": 9, "n": 8, "k": 70}, True, 70),
    ("dense", {"m": 5, "n": 6, "k": 40, "activation": "relu"}, True, 40),
    ("conv2d", {"c": 3, "h": 7, "w": 6, "f": 4, "kh": 3, "kw": 2, "pad": 1}, True, 18),
    ("softmax", {"rows": 5, "cols": 60}, False, 60),
]


def _inputs(program: Program) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {b.name: rng.normal(size=b.shape).astype(b.dtype.numpy) for b in program.params[:-1]}


def _worst(program: Program) -> float:
    """Largest error of the native run, in units of roundoff times magnitude."""
    inputs, (output,) = _inputs(program), program.params[-1:]
    wide = run(widen(program), inputs)
    error = np.abs(run(program, inputs)[output.name].astype(np.float64) - wide[output.name])
    magnitude = wide[f"{output.name}_mag"]
    assert np.isfinite(magnitude).all()
    assert (magnitude >= np.abs(wide[output.name]) * (1 - 1e-12)).all()
    return float((error / (output.dtype.unit_roundoff * magnitude)).max())


@pytest.mark.parametrize(("op", "sizes", "exact", "length"), SMALL)
def test_operators_stay_within_their_tolerance(
    op: str, sizes: dict[str, int], exact: bool, length: int
) -> None:
    program = program_for(op, sizes)
    verify(widen(program))
    assert longest_reduction(program) == length
    assert is_exact(program) is exact
    assert _worst(program) <= math.sqrt(length) + 8


FUNCTIONS = [
    "exp(x[i] * 3)", "log(abs(x[i]) + 0.01)", "sqrt(abs(x[i]))", "rsqrt(abs(x[i]) + 0.01)",
    "tanh(x[i] * 2)", "erf(x[i])", "sigmoid(x[i] * 5)", "sin(x[i] * 9)", "cos(x[i] * 9)",
    "x[i] / (x[i] * x[i] + 0.1)", "pow(abs(x[i]), 2.5)", "pow(1.5, x[i])", "-abs(x[i] - 1e4)",
    "min(x[i] * 3, exp(x[i]))", "clamp(x[i] * 7, -1, 1)", "x[i] if x[i] > 0.0 else x[i] * 0.1",
    "f32(f16(x[i] * 0.5)) if i < 0 else x[i] * f32(i + 1)", "(x[i] + 1e4) - 1e4",
]  # fmt: skip


@pytest.mark.parametrize("value", FUNCTIONS)
def test_every_function_propagates_its_magnitude(value: str) -> None:
    program = parse(
        f"def f(x: f32[50], y: f32[50]):\n    for i in range(50):\n        y[i] = {value}\n"
    )
    verify(widen(program))
    assert _worst(program) <= 4


def test_the_root_of_zero_has_a_finite_magnitude() -> None:
    program = parse("def f(x: f32[1], y: f32[1]):\n    y[0] = sqrt(x[0])\n")
    out = run(widen(program), {"x": np.zeros(1, np.float32)})
    assert out["y_mag"].tolist() == [0.0]


@pytest.mark.parametrize("value", ["exp(x[i])", "sigmoid(x[i])", "1e-20 / exp(-0.5 * x[i])"])
def test_what_underflows_and_is_multiplied_later_is_no_error(value: str) -> None:
    program = parse(
        "def f(x: f32[200], y: f32[200]):\n    for i in range(200):\n"
        f"        y[i] = {value} * 1e6\n"
    )
    x = np.linspace(-104, -84, 200).astype(np.float32)
    wide, native = run(widen(program), {"x": x}), run(program, {"x": x})["y"]
    error = np.abs(native - wide["y"])
    assert (error <= 4 * F32.unit_roundoff * wide["y_mag"]).all()
    assert (error > 8 * F32.unit_roundoff * np.abs(wide["y"])).any()


def test_the_wide_form_of_a_program() -> None:
    program = parse("""
def f(n: i32[4], x: f32[4], y: f32[4], c: i32[4], z: f64[1]):
    t = buffer(f32[4], "local")
    z[0] = 1
    for i in range(4):
        t[i] = x[i] * 2
        c[i] = n[i] + i32(t[i])
        y[i] = t[i] / f32(n[i])
        z[0] = min(z[0], y[i])
""")
    assert (
        show(widen(program))
        == """\
def f(n: i32[4], x: f32[4], y: f64[4], y_mag: f64[4], c: i32[4], z: f64[1], z_mag: f64[1]):
    t = buffer(f64[4])
    t_mag = buffer(f64[4])
    z_mag[0] = 1.0
    z[0] = 1.0
    for i in range(4):
        t_mag[i] = abs(f64(x[i])) * 2.0
        t[i] = f64(x[i]) * 2.0
        c[i] = n[i] + i32(t[i])
        y_mag[i] = t_mag[i] / abs(f64(n[i])) + abs(t[i]) / (f64(n[i]) * f64(n[i])) * \
abs(f64(n[i])) + 1.1754943508222875e-38
        y[i] = t[i] / f64(n[i])
        z_mag[0] = max(z_mag[0], y_mag[i])
        z[0] = min(z[0], y[i])
"""
    )
    assert all(b.dtype == F64 for b in widen(program).locals)


HEADER = "def f(x: f32[4, 6], y: f32[4, 6]):\n    for i, j in grid(4, 6):\n        y[i, j] = 0\n"
LENGTHS = [
    ("", 1),
    ("    for i, j, k in grid(4, 6, 9):\n        y[i, j] += x[i, j]\n", 9),
    ("    for i, j, k in grid(4, 6, 9):\n        y[i, j] = max(y[i, j], x[i, j])\n", 1),
    ("    for i, j in grid(4, 6):\n        y[i, 0] += x[i, j]\n", 6),
    ("    for i, j in grid(4, 6):\n        y[0, 0] *= x[i, j]\n", 24),
    (
        "    for i in range(4):\n        y[0, 0] = 0\n        for j in range(6):\n"
        "            y[0, 0] += x[i, j]\n", 6,
    ),
    ("    for n in range(2):\n        for i, j, k in grid(4, 6, 9):\n"
     "            y[i, j] += x[i, j]\n", 18),
    ("    for i, k in grid(4, 9):\n        y[i, 0] += x[i, 0]\n        y[i, 0] += x[i, 1]\n", 18),
    ("    for j in range(5):\n        y[0, j + 1] = y[0, j] + x[0, j]\n", 5),
]  # fmt: skip


@pytest.mark.parametrize(("text", "length"), LENGTHS)
def test_the_longest_reduction(text: str, length: int) -> None:
    assert longest_reduction(parse(HEADER + text)) == length


@pytest.mark.parametrize(("value", "exact"), [
    ("x[i] * 2 - abs(x[i])", True), ("max(x[i], -inf)", True), ("x[i] * 0.5", False),
    ("x[i] / 2", False), ("exp(x[i])", False), ("round(x[i] + 1)", True),
    ("x[i] if x[i] > 1 else -x[i]", True), ("f32(i // 2)", True), ("f32(n[i] % 3)", True),
])  # fmt: skip
def test_exactness(value: str, exact: bool) -> None:
    text = (
        f"def f(x: f32[4], n: i32[4], y: f32[4]):\n    for i in range(4):\n        y[i] = {value}\n"
    )
    assert is_exact(parse(text)) is exact
