"""What the fuzzing found, shrunk: scheduled programs whose C once was wrong or did not build."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.codegen.native import inputs_for, run, targets_here
from tests.differential.pairs import Pair, differing
from tests.differential.sanitized import run_sanitized
from tuner.frontends.text import parse
from tuner.ir.interp import run as interpret

FOUND = {
    # a load shared with a later statement was read in a selection before its variable was set
    "a shared load in an earlier selection": """
def program(x: f32[9], y: f32[6]):
    for q in vectorized(6):
        y[q] = x[q + 2] if q < 2 else x[0] + 1.0
""",
    # two equal literals in lanes: the scalar helper was called on vectors
    "a maximum of literals in lanes": """
def program(x: i64[4], y: i64[1]):
    for i in range(1):
        y[i] = x[0]
        for j in vectorized(4):
            y[i] = max(y[i], 3)
""",
    # a sum of two spread scalars stayed a scalar, which cannot be summed over lanes
    "a sum over lanes of equal scalars": """
def program(x: f64[2], y: f64[1]):
    for i in range(1):
        y[i] = x[0]
        for k in vectorized(4):
            y[i] += x[1]
""",
    # gcc 12 -O2 computed another h[0, 0] while pointers were declared restrict
    "sums in the workspace beside an output": """
def program(x: i64[9, 9], y: i64[9, 9]):
    h = buffer(i64[9, 9])
    packed = buffer(i64[7, 5])
    start = buffer(i64[1, 6], "local")
    tile = buffer(i64[1, 6], "local")
    for p0 in range(9):
        for q0 in range(9):
            y[p0, q0] = 1
    for c in range(7):
        for d in range(5):
            packed[c, d] = x[c, d]
    for o in range(2):
        for a in range(7):
            for b in vectorized(6):
                start[0, b] = 0
            for e in range(6):
                h[a, e] = start[0, e]
        for p in range(7):
            for r in vectorized(6):
                tile[0, r] = h[p, r]
            for q in range(6):
                for z in vectorized(3):
                    tile[0, q] += packed[p, z]
            for s in range(6):
                h[p, s] = tile[0, s]
        for n in range(2):
            y[0, n] += h[0, 0] * 2
""",
    # set_scope after prefetch: the array was declared inside the loop, below its prefetch
    "a prefetch of what became local": """
def program(x: f32[3, 7], y: f32[3]):
    s = buffer(f32[3], "local")
    for i in range(3, notes=('prefetch s 8',)):
        s[i] = 0.0
        for t in range(7):
            s[i] += x[i, t]
        y[i] = s[i]
""",
}


#: what the sanitizers found: undefined in C, whatever a compiler made of it
UNDEFINED = {
    # u[3 - i] was addressed as (&u[-i])[3]
    "a pointer before an array": """
def program(x: f32[9], y: f32[9]):
    u = buffer(f32[9], "local")
    for n in range(9):
        u[n] = x[n]
    for i in range(4):
        u[3 - i] = x[i] + u[3 - i]
    for j in range(9):
        y[j] = u[8 - j]
""",
}


@pytest.mark.parametrize("text", UNDEFINED.values(), ids=UNDEFINED)
def test_stays_defined(text: str, tmp_path: Path) -> None:
    program = parse(text)
    pair = Pair(0, program, (), program, "small", inputs_for(program), Counter())
    assert not differing(pair, run_sanitized(pair, targets_here()[0], tmp_path))


@pytest.mark.parametrize("target", targets_here(), ids=lambda t: t.name)
@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_stays_right(text: str, target) -> None:
    inputs = inputs_for(parse(text))
    for name, want in interpret(parse(text), inputs).items():
        np.testing.assert_array_equal(run(text, inputs, target)[name], want)
