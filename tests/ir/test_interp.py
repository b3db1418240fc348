"""The interpreter against numpy, and on the corners of its arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from tuner.dtypes import F32, INDEX
from tuner.errors import StageError
from tuner.frontends.text import parse
from tuner.ir.interp import run
from tuner.ir.nodes import (
    Broadcast,
    Buffer,
    Call,
    Const,
    Load,
    Program,
    Ramp,
    Reduce,
    Scope,
    Store,
    Var,
)


def _map(value: str, x: list[float], types: str = "f32 f32") -> list[float]:
    """y[i] = value for every element of x."""
    source, result = types.split()
    n = len(x)
    program = parse(
        f"def f(x: {source}[{n}], y: {result}[{n}]):\n    for i in range({n}):\n"
        f"        y[i] = {value}\n"
    )
    return run(program, {"x": np.array(x, program.params[0].dtype.numpy)})["y"].tolist()


def test_matmul_equals_numpy() -> None:
    program = parse("""
def matmul(a: i64[6, 7], b: i64[7, 5], c: i64[6, 5]):
    for i, j in grid(6, 5):
        c[i, j] = 0
        for k in range(7):
            c[i, j] += a[i, k] * b[k, j]
""")
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 9, (6, 7)), rng.integers(-9, 9, (7, 5))
    assert np.array_equal(run(program, {"a": a, "b": b})["c"], a @ b)


def test_a_million_statements_are_a_matter_of_numpy() -> None:
    n = 100
    program = parse(f"""
def matmul(a: f64[{n}, {n}], b: f64[{n}, {n}], c: f64[{n}, {n}]):
    for i, j in grid({n}, {n}):
        c[i, j] = 0
        for k in range({n}):
            c[i, j] += a[i, k] * b[k, j]
""")
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(n, n)), rng.normal(size=(n, n))
    assert np.allclose(run(program, {"a": a, "b": b})["c"], a @ b, rtol=1e-12, atol=1e-12)


def test_a_recurrence_runs_in_order() -> None:
    program = parse("""
def scan(x: i32[5], y: i32[5]):
    y[0] = x[0]
    for i in range(4):
        y[i + 1] = y[i] + x[i + 1]
""")
    x = np.array([1, 2, 3, 4, 5], np.int32)
    assert run(program, {"x": x})["y"].tolist() == [1, 3, 6, 10, 15]


def test_each_operation_rounds_in_its_operands_type() -> None:
    assert _map("x[i] + 1", [16777216.0]) == [16777216.0]
    assert _map("(x[i] + 1) - x[i]", [16777216.0]) == [0.0]
    assert _map("f32((f64(x[i]) + 1) - f64(x[i]))", [16777216.0]) == [1.0]
    assert _map("x[i] * x[i]", [300.0], "f16 f16") == [np.inf]
    assert _map("f32(x[i]) * f32(x[i])", [300.0], "f16 f32") == [90000.0]


def test_integers_wrap_and_divide_towards_minus_infinity() -> None:
    assert _map("x[i] + 1", [127, -128], "i8 i8") == [-128, -127]
    assert _map("x[i] * x[i]", [16, 17], "u8 u8") == [0, 33]
    assert _map("x[i] // 2", [-3, 3], "i32 i32") == [-2, 1]
    assert _map("x[i] % 3", [-1, 4], "i32 i32") == [2, 1]
    assert _map("x[i]", [300, -200], "i32 i8") == [44, 56]


def test_floats_saturate_on_their_way_to_integers() -> None:
    values = [1e20, -1e20, np.inf, -np.inf, np.nan, 2.9, -2.9]
    big, small = 2**31 - 1, -(2**31)
    assert _map("i32(x[i])", values, "f32 i32") == [big, small, big, small, 0, 2, -2]
    assert _map("u8(x[i])", [-1.0, 254.5, 255.0, 256.0, np.nan], "f32 u8") == [0, 254, 255, 255, 0]
    assert _map("i64(x[i])", [1e30, -1e30, 2.0**62], "f64 i64") == [2**63 - 1, -(2**63), 2**62]


def test_min_and_max_propagate_nan() -> None:
    for text in ("max(x[i], 0)", "min(x[i], 0)", "max(0, x[i])", "clamp(x[i], -1, 1)"):
        assert np.isnan(_map(text, [np.nan])).all()


def test_a_conditional_evaluates_the_taken_side_only() -> None:
    program = parse("""
def shift(x: f32[4], y: f32[4]):
    for i in range(4):
        y[i] = x[i - 1] if i >= 1 else 7
""")
    x = np.array([1, 2, 3, 4], np.float32)
    assert run(program, {"x": x})["y"].tolist() == [7, 1, 2, 3]


def test_what_is_not_written_is_poison() -> None:
    program = parse("""
def half(x: f32[4], y: f32[4], z: i32[2], b: bool[2]):
    y[0] = x[0]
    z[0] = 1
    b[0] = False
""")
    out = run(program, {"x": np.ones(4, np.float32)})
    assert np.isnan(out["y"][1:]).all()
    assert out["z"].tolist() == [1, 0x7F7F7F7F]
    assert out["b"].tolist() == [False, True]


FUNCTIONS = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "tanh": np.tanh, "sin": np.sin, "cos": np.cos,
    "rsqrt": lambda x: x**-0.5, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "floor": np.floor,
    "ceil": np.ceil, "round": np.rint, "abs": np.abs,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_rounded_once(name: str) -> None:
    x = np.linspace(0.1, 5, 23, dtype=np.float32)
    expected = FUNCTIONS[name](x.astype(np.float64)).astype(np.float32)
    assert np.array_equal(_map(f"{name}(x[i])", x.tolist()), expected)


def test_erf_and_pow() -> None:
    assert _map("erf(x[i])", [0.0, 1.0], "f64 f64") == [0.0, 0.8427007929497149]
    assert _map("pow(x[i], 3.0)", [2.0, -2.0]) == [8.0, -8.0]


@pytest.mark.parametrize(("op", "start", "expected"), [
    ("+= x[i]", "0", 45.0), ("*= x[i]", "1", 0.0),
    ("= max(y[0], x[i])", "-inf", 9.0), ("= min(x[i], y[0])", "inf", 0.0),
])  # fmt: skip
def test_every_reducer_over_lanes(op: str, start: str, expected: float) -> None:
    program = parse(
        f"def f(x: f32[10], y: f32[1]):\n    y[0] = {start}\n    for i in range(10):\n"
        f"        if i != 20:\n            y[0] {op}\n"
    )
    out = run(program, {"x": np.arange(10, dtype=np.float32)})
    assert out["y"].tolist() == [expected]


def test_integer_reductions_stay_in_their_type() -> None:
    program = parse(
        "def f(x: i8[300], y: i8[1]):\n    y[0] = 0\n    for i in range(300):\n"
        "        y[0] += x[i]\n"
    )
    assert run(program, {"x": np.ones(300, np.int8)})["y"].tolist() == [44]


def test_lowered_nodes_have_a_meaning() -> None:
    lanes = Ramp(Const(0), 1, 4)
    x = Buffer("x", F32, (4,), Scope.PARAM)
    y, s = Buffer("y", F32, (2, 2), Scope.PARAM), Buffer("s", F32, (1,), Scope.PARAM)
    load = Load("x", (lanes,), F32)
    product = Call("mul", (load, Broadcast(Const(2.0, F32), 4)), F32)
    backwards = Ramp(Const(3), -1, 4)
    body = (
        Store("y", (backwards,), product),
        Store("s", (Const(0),), Reduce("add", load)),
    )
    out = run(Program("f", (x, y, s), (), body), {"x": np.arange(4, dtype=np.float32)})
    assert out["y"].tolist() == [[6.0, 4.0], [2.0, 0.0]]
    assert out["s"].tolist() == [6.0]


def test_an_access_outside_is_caught() -> None:
    x = Buffer("x", F32, (4,), Scope.PARAM)
    y = Buffer("y", F32, (4,), Scope.PARAM)
    index = Call("sub", (Const(0), Const(1)), INDEX)
    body = (Store("y", (Const(0),), Load("x", (index,), F32)),)
    with pytest.raises(StageError, match="leaves"):
        run(Program("f", (x, y), (), body), {"x": np.ones(4, np.float32)})


@pytest.mark.parametrize("x", [np.ones(3, np.float32), np.ones(4, np.float64)])
def test_inputs_of_another_form_are_refused(x: np.ndarray) -> None:
    program = parse("def f(x: f32[4], y: f32[4]):\n    y[0] = x[0]\n")
    with pytest.raises(ValueError, match=r"expected f32\[4\]"):
        run(program, {"x": x})


def test_a_loop_variable_outside_its_loop_is_no_value() -> None:
    y = Buffer("y", F32, (4,), Scope.PARAM)
    with pytest.raises(KeyError):
        run(Program("f", (y,), (), (Store("y", (Var("i"),), Const(0.0, F32)),)), {})
