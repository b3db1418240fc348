"""Loops that a program text itself marks as parallel or vectorized are checked when it comes in."""

import pytest

from tuner.errors import ProgramError
from tuner.frontends.text import parse
from tuner.workload.workload import admit

CHAIN = """
def chain(x: f32[9], y: f32[9]):
    for s in range(9):
        y[s] = x[s]
    for i in {kind}(8):
        y[i + 1] = y[i] + 1.0
"""
FREE = """
def free(x: f32[8], y: f32[8]):
    for i in {kind}(8):
        y[i] = x[i] + 1.0
"""
OUTER = """
def outer(x: f32[8, 4], y: f32[8, 4]):
    for i in vectorized(8):
        for j in range(4):
            y[i, j] = x[i, j]
"""


@pytest.mark.parametrize("kind", ["parallel", "vectorized"])
def test_iterations_that_depend_on_each_other_are_refused(kind):
    with pytest.raises(ProgramError, match="may meet in different iterations of l1"):
        admit(parse(CHAIN.format(kind=kind)))


@pytest.mark.parametrize("kind", ["range", "unrolled", "parallel", "vectorized"])
def test_independent_iterations_are_taken(kind):
    assert admit(parse(FREE.format(kind=kind))).flops == 8


def test_only_innermost_loops_can_be_vectorized():
    with pytest.raises(ProgramError, match="only an innermost loop"):
        admit(parse(OUTER))
