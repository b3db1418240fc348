"""What the fuzzing found, shrunk: scheduled programs whose C once was wrong or did not build."""

import numpy as np
import pytest

from tests.codegen.native import inputs_for, run, targets_here
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
}


@pytest.mark.parametrize("target", targets_here(), ids=lambda t: t.name)
@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_stays_right(text: str, target) -> None:
    inputs = inputs_for(parse(text))
    for name, want in interpret(parse(text), inputs).items():
        np.testing.assert_array_equal(run(text, inputs, target)[name], want)
