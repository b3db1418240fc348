"""transpose_lanes: which columns come from a transposition in registers."""

from __future__ import annotations

import numpy as np
import pytest

from tuner.frontends.text import parse
from tuner.ir.interp import run
from tuner.ir.nodes import Expr, Load, Program, Ramp, Shuffle
from tuner.ir.visit import loads, stmt_exprs, walk, walk_exprs
from tuner.lower.pipeline import lower
from tuner.target import target

_COLUMNS = """
def f(x: f32[64, 40], y: f32[32, 64]):
    for o in range(64 // {lanes}):
        for r in unrolled({columns}):
            for c in vectorized({lanes}):
                y[r, o * {lanes} + c] = x[o * {lanes} + c, r + 3]
"""


def _columns(lanes: int, columns: int) -> str:
    text = _COLUMNS.format(lanes=lanes, columns=columns)
    return text.replace(f"64 // {lanes}", str(64 // lanes)).replace("32, 64]", f"{columns}, 64]")


def _expressions(program: Program) -> list[Expr]:
    return [e for s in walk(program.body) for top in stmt_exprs(s) for e in walk_exprs(top)]


def _counts(program: Program) -> tuple[int, int]:
    """Shuffles, and loads of elements that do not stand side by side."""
    strided = [
        x
        for x in loads(program.body)
        if isinstance(x.indices[0], Ramp) and _stride(x) not in (0, 1)
    ]
    return sum(isinstance(e, Shuffle) for e in _expressions(program)), len(strided)


def _stride(load: Load) -> int:
    ramp = load.indices[0]
    assert isinstance(ramp, Ramp)
    return ramp.stride


@pytest.mark.parametrize(
    ("machine", "lanes", "columns", "shuffles", "left"),
    [
        ("cpu-sse2-1t", 4, 4, 8, 0),
        ("cpu-neon-1t", 4, 11, 16, 3),
        ("cpu-avx2-1t", 8, 8, 24, 0),
        ("cpu-avx512-1t", 16, 16, 64, 0),
        ("cpu-avx512-1t", 16, 35, 128, 3),
        ("cpu-avx512-1t", 16, 15, 0, 15),
    ],
)
def test_whole_squares_are_transposed(machine, lanes, columns, shuffles, left):
    program = parse(_columns(lanes, columns))
    lowered = lower(program, target(machine))
    assert _counts(lowered) == (shuffles, left)
    x = np.arange(64 * 40, dtype=np.float32)
    np.testing.assert_array_equal(
        run(lowered, {"x": x})["y"].reshape(columns, 64), x.reshape(64, 40).T[3 : 3 + columns]
    )


@pytest.mark.parametrize(
    ("what", "value", "after"),
    [
        ("a selection may skip them", "x[c, r] if r + c < q else 0.0", ""),
        ("the run stores to their buffer", "w[c, r]", "w[3, r] = 1.0"),
        ("they are not of one square", "x[c, 2 * r]", ""),
        ("they move otherwise", "x[c, r + (q + r) % 3]", ""),
    ],
)
def test_what_is_left_alone(what, value, after):
    del what
    program = parse(
        "def f(x: f32[4, 9], w: f32[4, 4], y: f32[3, 4, 4]):\n"
        "    for a, b in grid(4, 4):\n        w[a, b] = 2.0\n"
        "    for q in range(3):\n        for r in unrolled(4):\n"
        f"            for c in vectorized(4):\n                y[q, r, c] = {value}\n"
        + (f"            {after}\n" if after else "")
    )
    assert _counts(lower(program, target("cpu-sse2-1t")))[0] == 0


def test_a_square_that_no_target_holds_in_registers_is_left_alone():
    text = _columns(16, 16).replace("f32", "i8")
    assert _counts(lower(parse(text), target("cpu-sse2-1t"))) == (0, 16)
