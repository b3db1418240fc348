"""unroll, vectorize."""

import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.programs import matmul, scale
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.ir.show import show_body
from tuner.schedule.apply import apply
from tuner.schedule.steps import DecomposeReduction, Reorder, Split, Unroll, Vectorize


def _one_loop(statement: str, start: str = "y[p] = 1.0") -> str:
    return f"""
def f(x: f32[20], y: f32[20]):
    for p in range(20):
        {start}
    for i in range(8):
        {statement}
"""


@pytest.mark.parametrize(
    "statement",
    [
        "y[i] = x[i]",
        "y[2 * i + 1] = x[i]",
        "y[7 - i] = y[7 - i] + x[i]",
        "y[i] += x[2 * i]",
        "y[3] += x[i]",
        "y[3] = max(y[3], x[i])",
        "y[i] = y[i + 8] * x[3]",
        "y[i + 8] = y[i]",
        "y[i] = y[i + 1]",
        "y[i] += y[i + 1]",
        "y[8] += y[i + 8]",
        "y[i] = x[i] if i < 3 else 0.0",
    ],
)
def test_lanes(statement):
    program = parse(_one_loop(statement))
    scheduled = assert_same(program, (Vectorize("i"), Vectorize("p")))
    assert "for i in vectorized(8):" in show_body(scheduled.body)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("y[i + 1] = y[i]", "y[i] (read) and y[i + 1] (written) may meet in different iterations"),
        ("y[i] = y[7 - i]", "may meet in different iterations of i"),
        ("y[i // 2] = x[i]", "y[i // 2] (assign) may meet in different iterations of i"),
        ("y[3] = x[i]", "y[3] (assign) may meet in different iterations of i"),
        ("y[i // 2] += x[i]", "may be the same element in several iterations of i, but not in all"),
        ("y[i % 4] += x[i]", "may be the same element in several iterations of i, but not in all"),
        ("y[3] += y[i]", "y[i] (read) and y[3] (written) may meet in different iterations of i"),
        ("y[0] += x[i]\n        y[0] = y[0] * 2.0", "may meet in different iterations of i"),
        ("y[0] += x[i]\n        y[0] = max(y[0], 3.0)", "may meet in different iterations of i"),
    ],
)
def test_what_cannot_be_lanes(statement, message):
    with pytest.raises(ScheduleError) as caught:
        apply(parse(_one_loop(statement)), (Vectorize("i"),))
    assert message in caught.value.message


def test_only_innermost_loops_become_lanes():
    with pytest.raises(ScheduleError, match="only an innermost loop can be vectorized; 'j' cont"):
        apply(matmul(4, 4, 4), (Vectorize("j"),))


def test_reduction_over_lanes_and_output_lanes():
    start = DecomposeReduction("c", "i", ("z0", "z1"))
    assert_same(matmul(3, 5, 7), (start, Vectorize("k")))
    assert_same(matmul(3, 5, 7), (start, Reorder(("k", "j")), Vectorize("j")))


def test_unroll_keeps_the_meaning():
    steps = (Split("i", 4, "a", "b"), Unroll("b"), Unroll("a"))
    assert "for b in unrolled(4):" in show_body(assert_same(scale(10), steps).body)


def test_unrolled_copies_are_limited():
    steps = (Split("i", 64, "a", "b"), Unroll("b"), Unroll("a"))
    assert_same(scale(4096), steps)
    with pytest.raises(ScheduleError, match="would write out 4160 copies of a statement; at most"):
        apply(scale(4097), steps)
    with pytest.raises(ScheduleError, match="would write out 5000 copies"):
        apply(scale(5000), (Unroll("i"),))


def test_copies_of_loops_around_and_inside_multiply():
    with pytest.raises(ScheduleError, match=r"step 2, .* would write out 6400 copies"):
        apply(matmul(80, 80, 2), (Unroll("i"), Unroll("j")))


def test_annotated_twice():
    with pytest.raises(ScheduleError, match="loop 'i' is already unrolled"):
        apply(scale(8), (Unroll("i"), Vectorize("i")))
