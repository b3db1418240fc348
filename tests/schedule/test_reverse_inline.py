"""reverse_inline."""

import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.programs import dense_relu
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.ir.show import show_body
from tuner.schedule.apply import apply
from tuner.schedule.steps import ReverseInline, Split, TransformLayout, Vectorize

TEXT = """
def f(x: f32[7, 6], b: f32[6], y: f32[6, 7]):
    h = buffer(f32[7, 6])
    for i, j in grid(7, 6):
        h[i, j] = x[i, j] + b[j]
    for r, s in grid(6, 7):
        y[r, s] = max(h[s, r], 0.0) * h[s, r]
"""


@pytest.mark.parametrize(
    "before",
    [(), (Split("s", 4, "s0", "s1"),), (TransformLayout("h", ("1", "0//4", "0%4"), (8, 6)),)],
)
def test_whatever_was_done_to_the_consumer(before):
    program = assert_same(parse(TEXT), (*before, ReverseInline("h")))
    assert not program.locals
    assert show_body(program.body) == (
        "for i in range(7):\n    for j in range(6):\n"
        "        y[j, i] = max(x[i, j] + b[j], 0.0) * (x[i, j] + b[j])"
    )


def test_loops_and_guards_of_the_producer_stay():
    steps = (Split("i", 4, "i0", "i1"), Vectorize("j"), ReverseInline("h"))
    assert "if i0 * 4 + i1 < 7:" in show_body(assert_same(parse(TEXT), steps).body)


def _text(produce: str, consume: str, between: str = "") -> str:
    return f"""
def f(x: i32[8], t: i32[8], y: i32[8]):
    h = buffer(i32[8])
    for p in range(8):
        t[p] = x[p]
        y[p] = 0
    for i in range(8):
        {produce}
{between}
    for m in range(4):
        {consume}
"""


@pytest.mark.parametrize(
    ("produce", "consume"),
    [
        ("h[i] = x[i]", "y[m] = h[m] + t[m]"),
        ("h[7 - i] = x[i]", "y[m + 1] = h[2 * m + 1]"),
        ("h[i] = x[i]", "if m >= 1:\n            y[m] = h[m - 1]"),
        ("h[i] = x[i]", "y[0] += h[m]"),
        ("h[i] = x[i] + t[i]", "y[2 * m] = max(y[2 * m], h[m])"),
    ],
)
def test_accepted(produce, consume):
    assert_same(parse(_text(produce, consume)), (ReverseInline("h"),))


COPY = "h[i] = x[i]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_text(COPY, "y[m] = h[m] + h[m + 1]"), "expected one statement that reads one element of"),
        (_text(COPY, "y[m] = x[m]"), "one element of 'h'; found none"),
        (_text(COPY, "y[m] = h[3]"), "h[3] is used in each iteration of m"),
        (_text(COPY, "y[m] = h[m // 2]"), "does not tell which iteration touches an element"),
        (_text("h[0] = x[i]", "y[m] = h[0]"), "h[0] is made anew in each iteration of i"),
        (_text("if i >= 1:\n            h[i] = x[i]", "y[m] = h[m]"), "that takes m >= 1"),
        (_text("h[i] = t[i]", "t[m] = h[m]"), "t[m] cannot move ahead of t[i], which may touch"),
        (_text(COPY, "y[m] = h[m] + t[m]", "    t[2] = 5"), "t[m] cannot move ahead of t[2]"),
        (
            _text(COPY, "y[m + 1] = h[m] + y[m]"),
            "y[m] and y[m + 1] may meet in different iterations of the consumer, which would run",
        ),
    ],
)
def test_refusals(text, message):
    with pytest.raises(ScheduleError) as caught:
        apply(parse(text), (ReverseInline("h"),))
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (ReverseInline("z"), "no buffer is called 'z'"),
        (ReverseInline("y"), "'y' is a parameter: only intermediate buffers"),
        (ReverseInline("h"), "found h[i, j] (assign), h[i, j] (add): use reverse_compute_at"),
    ],
)
def test_other_refusals(step, message):
    with pytest.raises(ScheduleError) as caught:
        apply(dense_relu(4, 4, 4), (step,))
    assert message in caught.value.message


def test_accumulation_into_lanes():
    steps = (Vectorize("i"), ReverseInline("h"))
    with pytest.raises(ScheduleError, match="into 'y' would move into lanes: vectorize later"):
        apply(parse(_text(COPY, "y[0] += h[m]")), steps)
