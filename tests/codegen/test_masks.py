"""Conditions in lanes: masks where the widths agree, lane by lane where not, scalars where all
lanes agree."""

from __future__ import annotations

import numpy as np
import pytest

from tests.codegen.native import CLANG, inputs_for, run, targets_here
from tests.conftest import require
from tuner.frontends.text import parse
from tuner.ir.interp import run as interpret
from tuner.ir.nodes import Load, Ramp, Select
from tuner.ir.visit import stores, walk_exprs
from tuner.lower.exprs import lanes
from tuner.lower.pipeline import lower
from tuner.target import Target, target

_MACHINES = (targets_here()[0], targets_here()[-1])

#: conditions of `y[i, j] = x[i, j] if … else b[j]`, f32, with j over 40 lanes and i over 4 rows
_CONDITIONS = {
    "two ramps": "j * 2 < j + i + 9",
    "an undecided guard": "0 <= j - i < 20",
    "the guard that a main part leaves is a scalar": "0 <= i * 2 + k - 3 < 5 and j < 20",
    "the truth value that a main part leaves is a scalar": "t[i] and j < 20",
    "data": "x[i, j] > 0.0",
    "and, or, not of data": "x[i, j] > 0.0 and not b[j] < 0.5 or x[i, j] < -1.0",
    "data of the row beside data of lanes": "m[i] > 0.0 and x[i, j] > 0.0",
    "guard of the row beside data of lanes": "i > 2 or x[i, j] > 0.0",
    "guard of lanes beside data of lanes": "x[i, j] > 0.0 and i + j < 30",
    "data of another width": "n[j] > 50",
    "data of another width left by a main part": "n[j] > 50 and j < 20",
    "masks of two widths": "d[j] > 0.0 and x[i, j] > 0.0",
    "truth values compared": "(x[i, j] > 0.0) == (b[j] > 0.0)",
    "equal in one lane between the ends": "j == 7",
    "a remainder, false at both ends": "(j + 3) % 8 < 2",
    "a square, true at both ends": "(j - 7) * (j - 7) >= 9",
    "two bounds negated": "not (j < 3 or j > 12)",
}
_TEXT = """
def f(x: f32[4, 40], b: f32[40], m: f32[4], t: bool[4], n: i8[40], d: f64[40], y: f32[4, 2, 40]):
    for i in range(4):
        for k in unrolled(2):
            for j in vectorized(40):
                y[i, k, j] = x[i, j] if {cond} else b[j]
"""
_VALUES = {
    "f64 under a guard of the row and data": """
def f(x: f64[40], y: f64[4, 40]):
    for i in range(4):
        for j in vectorized(40):
            y[i, j] = x[j] if (i > 2 or x[j] > 0.0) else 0.5
""",
    "the loop variable is the value": """
def f(x: i64[40], y: i64[4, 40]):
    for i in range(4):
        for j in vectorized(40):
            y[i, j] = 7 if i + j > 100 else x[j] * (j * 3 + 2) if i > 1 else j
""",
    "a padded operand packed": """
def f(x: f32[12, 20], p: f32[12, 12, 32]):
    for i in range(12):
        for k in range(12):
            for j in vectorized(32):
                p[i, k, j] = x[i + k - 2, j - 1] if 0 <= i + k - 2 < 12 and 1 <= j < 20 else 0.0
""",
    "selections in selections": """
def f(x: f32[4, 16], y: f32[4, 16]):
    for i in range(4):
        for j in vectorized(16):
            y[i, j] = (x[i, j] if x[i, j] > 0.0 else 5.0) if i + j < 12 else 2.0
""",
}
_PROGRAMS = {name: _TEXT.format(cond=cond) for name, cond in _CONDITIONS.items()} | _VALUES


@pytest.mark.parametrize("machine", _MACHINES, ids=lambda t: t.name)
@pytest.mark.parametrize("compiler", [("gcc",), CLANG], ids=["gcc", "clang"])
@pytest.mark.parametrize("text", _PROGRAMS.values(), ids=_PROGRAMS)
def test_equals_the_interpreter(text: str, compiler: tuple[str, ...], machine: Target) -> None:
    program = parse(text)
    inputs = inputs_for(program)
    found = run(text, inputs, machine, compiler=require(*compiler))
    for name, wanted in interpret(program, inputs).items():
        np.testing.assert_array_equal(found[name], wanted)


def test_a_guard_that_holds_in_every_lane_is_gone() -> None:
    text = _TEXT.format(cond="1 <= j + 1 < 17")
    body = lower(parse(text), target("cpu-avx512-1t")).body
    first = next(s for s in stores(body) if isinstance(s.value, Load))
    assert isinstance(first.value, Load)
    assert isinstance(first.value.indices[0], Ramp)


def test_a_guard_that_is_the_same_in_every_lane_is_asked_once() -> None:
    text = _TEXT.format(cond="m[i] > 0.0 and j < 20")
    body = lower(parse(text), target("cpu-avx512-1t")).body
    values = (n for s in stores(body) for n in walk_exprs(s.value))
    first = next(n for n in values if isinstance(n, Select))
    assert lanes(first) == 16
    assert lanes(first.cond) == 1
