"""Maths functions: accuracy, special values, and the same result in any number of lanes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.codegen.native import run, targets_here
from tuner.target import TARGETS, Target

_BEST = targets_here()[0]
_X86 = tuple(TARGETS[f"cpu-{isa}-1t"] for isa in ("avx512", "avx2", "sse2"))
_LANES = 1 << 20


def _apply(
    expression: str,
    *args: np.ndarray,
    vector: bool = True,
    dtype: str = "f32",
    machine: Target = _BEST,
) -> np.ndarray:
    names = "abc"[: len(args)]
    size = args[0].size
    params = ", ".join(f"{n}: {dtype}[{size}]" for n in names)
    kind = "vectorized" if vector else "range"
    text = (
        f"def f({params}, y: {dtype}[{size}]):\n"
        f"    for i in {kind}({size}):\n        y[i] = {expression}\n"
    )
    return run(text, dict(zip(names, args, strict=True)), machine)["y"]


def _ulps(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Distance from the f64 values `wanted` in units of the last place of f32."""
    unit = np.spacing(np.abs(wanted).astype(np.float32)).astype(np.float64)
    return np.abs(found.astype(np.float64) - wanted) / unit


_erf = np.vectorize(math.erf, otypes=[np.float64])


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _tails(rng: np.random.Generator, size: int) -> np.ndarray:
    """Of either sign and any size down to the smallest."""
    return rng.standard_normal(size) * 10.0 ** rng.uniform(-44, 0, size)


#: name -> true values, the ulps that the emitted text states (with AVX-512, with fused
#: multiply-adds, without), the ends beyond which it is constant
STATED = {
    "exp": (np.exp, (1.1, 1, 1.2), (-104, 88.72)),
    "log": (np.log, (1, 1, 1), (0, 3.4e38)),
    "tanh": (np.tanh, (2, 2, 2), (-10, 10)),
    "erf": (_erf, (2.5, 2, 2), (-4.5, 4.5)),
    "sigmoid": (_sigmoid, (3, 3, 3), (-104, 20)),
}


@pytest.mark.parametrize("machine", _X86, ids=lambda t: t.name)
@pytest.mark.parametrize("name", STATED)
def test_errors_are_as_stated(name: str, machine: Target) -> None:
    if machine not in targets_here():
        pytest.skip(f"this machine does not have {machine.name}")
    function, stated, (low, high) = STATED[name]
    rng = np.random.default_rng(1)
    parts = [rng.uniform(low, high, _LANES // 4), rng.uniform(-1, 1, _LANES // 4),
             rng.uniform(low, low + 20, _LANES // 4), _tails(rng, _LANES // 4)]  # fmt: skip
    x = np.concatenate(parts).astype(np.float32)
    if name == "log":
        x = np.abs(np.concatenate([x, np.exp(rng.uniform(-103, 88, _LANES)).astype(np.float32)]))
        x = x[x > 0]
    ulps = _ulps(_apply(f"{name}(a[i])", x, machine=machine), function(x.astype(np.float64)))
    assert ulps.max() <= stated[_X86.index(machine)]


@pytest.mark.parametrize("vector", [True, False])
@pytest.mark.parametrize("name", STATED)
def test_special_values(name: str, vector: bool) -> None:
    x = np.array([0, -0.0, np.inf, -np.inf, np.nan, 88.73, 1e38, -1e38, -103.97, -104.5, 1] * 4)
    x = x.astype(np.float32)
    with np.errstate(all="ignore"):
        wanted = STATED[name][0](x.astype(np.float64)).astype(np.float32)
    found = _apply(f"{name}(a[i])", x, vector=vector)
    np.testing.assert_array_max_ulp(found[~np.isnan(found)], wanted[~np.isnan(wanted)], 3)
    for test in (np.isnan, np.isinf, lambda v: np.signbit(v) & ~np.isnan(v)):
        np.testing.assert_array_equal(test(found), test(wanted))


@pytest.mark.parametrize("name", STATED)
def test_functions_are_the_same_in_any_number_of_lanes(name: str) -> None:
    x = np.random.default_rng(2).uniform(-105, 90, 10_007).astype(np.float32)
    x[::3] /= 50
    whole = _apply(f"{name}(a[i])", x)
    np.testing.assert_array_equal(whole, _apply(f"{name}(a[i])", x, vector=False))
    for size in (5, 9, 13):
        np.testing.assert_array_equal(_apply(f"{name}(a[i])", x[:size]), whole[:size])


@pytest.mark.parametrize("vector", [True, False])
@pytest.mark.parametrize("name", ["sqrt", "abs", "floor", "ceil", "round"])
def test_exact_functions(name: str, vector: bool) -> None:
    special = [0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 1e20, -1e20, 8388609, np.inf, -np.inf, np.nan]
    x = np.concatenate([special, np.random.default_rng(3).standard_normal(87) * 9])
    x = np.abs(x) if name == "sqrt" else x
    x = x.astype(np.float32)
    wanted = {"round": np.rint, "abs": np.abs}.get(name) or getattr(np, name)
    np.testing.assert_array_equal(_apply(f"{name}(a[i])", x, vector=vector), wanted(x))


@pytest.mark.parametrize("vector", [True, False])
@pytest.mark.parametrize("name", ["min", "max"])
def test_nan_passes_through_min_and_max(name: str, vector: bool) -> None:
    values = np.array([0.0, 1.0, -2.0, np.inf, -np.inf, np.nan], np.float32)
    a, b = (np.tile(v, 3).astype(np.float32) for v in (values.repeat(6), np.tile(values, 6)))
    wanted = {"min": np.minimum, "max": np.maximum}[name]
    np.testing.assert_array_equal(_apply(f"{name}(a[i], b[i])", a, b, vector=vector), wanted(a, b))
    for literal in ("0.0", "-1.5"):
        expected = wanted(a, np.float32(literal))
        found = _apply(f"{name}(a[i], {literal})", a, vector=vector)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["min", "max"])
def test_nan_passes_through_accumulations(name: str) -> None:
    start = {"min": "inf", "max": "-inf"}[name]
    text = (
        f"def f(x: f32[67], y: f32[1]):\n    y[0] = {start}\n"
        f"    for i in vectorized(67):\n        y[0] = {name}(y[0], x[i])\n"
    )
    for place in (0, 5, 17, 40, 66):
        x = np.random.default_rng(place).standard_normal(67).astype(np.float32)
        assert run(text, {"x": x}, _BEST)["y"][0] == {"min": np.min, "max": np.max}[name](x)
        x[place] = np.nan
        assert np.isnan(run(text, {"x": x}, _BEST)["y"][0])


_TANH = {"tanh": np.tanh, "sin": np.sin, "cos": np.cos, "log": np.log}


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("vector", [True, False])
def test_library_functions(vector: bool, dtype: str) -> None:
    x = np.random.default_rng(4).uniform(0.1, 4, 37).astype(f"float{dtype[1:]}")
    tolerance = 1e-6 if dtype == "f32" else 1e-14
    wide = x.astype(np.float64)
    wanted = {
        **{f"{n}(a[i])": f(wide) for n, f in _TANH.items()},
        "exp(a[i])": np.exp(wide),
        "rsqrt(a[i])": wide**-0.5,
        "sigmoid(a[i])": _sigmoid(wide),
        "erf(a[i])": _erf(wide),
        "pow(a[i], 1.5)": wide**1.5,
    }
    for expression, values in wanted.items():
        found = _apply(expression, x, vector=vector, dtype=dtype)
        np.testing.assert_allclose(found, values, rtol=tolerance)


def test_floats_saturate_into_integers() -> None:
    x = np.array([1.9, -1.9, 3e9, -3e9, np.nan, np.inf, -np.inf, 300, -1] * 3, np.float32)
    text = (
        "def f(x: f32[27], y: i32[27], z: u8[27]):\n"
        "    for i in vectorized(27):\n        y[i] = i32(x[i])\n"
        "    for j in range(27):\n        z[j] = u8(x[j])\n"
    )
    found = run(text, {"x": x}, _BEST)
    top, low = 2**31 - 1, -(2**31)
    assert found["y"][:9].tolist() == [1, -1, top, low, 0, top, low, 300, -1]
    assert found["z"][:9].tolist() == [1, 0, 255, 0, 0, 255, 0, 255, 0]
