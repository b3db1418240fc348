"""compute_at where the consumer changes values, or may come short of them."""

import pytest

from tests.schedule.equivalence import assert_same
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.schedule.apply import apply
from tuner.schedule.steps import ComputeAt

OVERWRITTEN = """
def f(x: f32[8], y: f32[8]):
    h = buffer(f32[8])
    for i in range(8):
        h[i] = x[i] * 3.0
    for j in range(6):
        {body}
    for p in range(2):
        y[6 + p] = 0.0
"""


@pytest.mark.parametrize(
    "body",
    [
        "h[j] = h[j] * 2.0\n        y[j] = h[j]",
        "h[j] += x[j]\n        y[j] = h[j] + h[j + 2]",
        "y[j] = h[j + 1]\n        h[j] = 0.0\n        y[j] += h[j]",
        "if j < 1:\n            h[j] = 0.0\n        y[j] = h[j]",
    ],
)
def test_consumer_that_changes_what_no_other_iteration_reads(body):
    assert_same(parse(OVERWRITTEN.format(body=body)), (ComputeAt("h", "j", ()),))


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("h[j + 1] = h[j] * 2.0\n        y[j] = 1.0", "written at j=0 and then read at j=1"),
        ("h[j] += x[j]\n        y[j] = h[0]", "accumulated at j=0 and then read at j=1"),
        (
            "h[j // 2] += x[j]\n        y[j] = h[j]",
            "accumulated at j=0 and then accumulated at j=1",
        ),
    ],
)
def test_consumer_that_hands_changed_values_on(body, shown):
    with pytest.raises(ScheduleError) as caught:
        apply(parse(OVERWRITTEN.format(body=body)), (ComputeAt("h", "j", ()),))
    assert "is written in 'j', where it would be computed anew; for example, h[" in (
        caught.value.message
    )
    assert shown in caught.value.message


def test_consumer_that_changes_the_producers_input_behind_it():
    text = """
def f(x: f32[8], y: f32[8]):
    h = buffer(f32[8])
    for p in range(8):
        y[p] = x[p]
    for i in range(8):
        h[i] = y[i] * 2.0
    for j in range(6):
        y[j] = h[j] + h[j + {reach}]
"""
    assert_same(parse(text.format(reach=2)), (ComputeAt("h", "j", ()),))
    shift = text.replace("y[j] =", "y[j + 1] =").format(reach=1)
    with pytest.raises(ScheduleError) as caught:
        apply(parse(shift), (ComputeAt("h", "j", ()),))
    assert "y[1] is written at j=0 and then read at j=1, i=0" in caught.value.message


def test_a_consumer_that_would_come_short():
    text = """
def f(x: f32[8], y: f32[8]):
    h = buffer(f32[8])
    for p in range(8):
        y[p] = 0.0
    for t in range(2):
        for i in range({made}):
            if t + i >= {first}:
                h[i] = x[i] * 2.0
        for j in range(6):
            if t + j >= 1:
                y[j] += h[j]
"""
    assert_same(parse(text.format(made=6, first=1)), (ComputeAt("h", "j", ()),))
    with pytest.raises(ScheduleError) as caught:
        apply(parse(text.format(made=6, first=2)), (ComputeAt("h", "j", ()),))
    assert "h[j] may hold a value from an earlier run of the nest that writes 'h'" in (
        caught.value.message
    )
    assert "read at t=0, j=1 and not assigned before" in caught.value.message
