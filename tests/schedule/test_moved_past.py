"""What moves past statements that only look as if they touched its elements, and what does not."""

import pytest

from tests.schedule.equivalence import assert_same
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.schedule.apply import apply
from tuner.schedule.memory_steps import Inline, ReverseInline
from tuner.schedule.steps import ComputeAt, ReverseComputeAt

BETWEEN = """
def f(x: f32[9], y: f32[9], z: f32[9], w: f32[9]):
    h = buffer(f32[9])
    for p in range(9):
        y[p] = x[p]
    for s in range(9):
        z[s] = 3.0
    for i in range(4):
        h[i] = y[2 * i] + 1.0
    for k in range(4):
        {between}
    for j in range(4):
        z[2 * j] = h[j] * 2.0
"""


@pytest.mark.parametrize(
    "step", [Inline("h"), ComputeAt("h", "j", ())], ids=["inline", "compute_at"]
)
def test_inputs_that_change_in_between(step):
    """Odd elements of y change; even ones are read."""
    program = BETWEEN.format(between="y[2 * k + 1] = 0.0")
    assert_same(parse(program), (step,))
    with pytest.raises(ScheduleError, match=r"y\[2\] is (read|written) at .* and then "):
        apply(parse(program.replace("2 * k + 1", "k + 2")), (step,))


@pytest.mark.parametrize(
    "step", [ReverseInline("h"), ReverseComputeAt("z", "i")], ids=["inline", "compute_at"]
)
def test_outputs_that_are_read_in_between(step):
    """Odd elements of z are read; the consumer writes even ones."""
    program = BETWEEN.format(between="w[k] = z[2 * k + 1]")
    assert_same(parse(program), (step,))
    with pytest.raises(ScheduleError, match=r"z\[2\] is read at k=1 and then written at j=1"):
        apply(parse(program.replace("z[2 * k + 1]", "z[k + 1]")), (step,))


def test_a_tile_that_changes_beside_what_is_used():
    program = BETWEEN.format(between="h[k + 4] = 0.0")
    assert_same(parse(program), (ReverseComputeAt("z", "i"),))
    with pytest.raises(ScheduleError) as caught:
        apply(parse(program.replace("h[k + 4]", "h[k + 3]")), (ReverseComputeAt("z", "i"),))
    assert "is written after 'i', before it is used; for example, h[3] is written at k=0" in (
        caught.value.message
    )


def test_what_comes_after_the_consumer_stays_there():
    text = """
def f(x: f32[4], y: f32[4], z: f32[4]):
    h = buffer(f32[4])
    for i in range(4):
        h[i] = x[i] * 2.0
        {first}
        {second}
"""
    consumer, other = "y[i] = h[i] + 1.0", "y[i] = y[i] * 3.0"
    assert_same(parse(text.format(first=consumer, second=other)), (ReverseInline("h"),))
    start = text.replace("    for i", "    for p in range(4):\n        y[p] = x[p]\n    for i")
    with pytest.raises(ScheduleError, match=r"y\[0\] is read at i=0 and then written at i=0"):
        apply(parse(start.format(first=other, second=consumer)), (ReverseInline("h"),))
