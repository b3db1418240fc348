"""Loops that a program text itself marks are checked when it comes in, as their primitive would."""

import re

import pytest

from tuner.errors import ProgramError, ScheduleError
from tuner.frontends.text import parse
from tuner.ir.canonical import canonicalize
from tuner.ir.nodes import AXES, LoopKind
from tuner.schedule.apply import apply
from tuner.schedule.loop_kinds import CHECKS
from tuner.schedule.loop_steps import Bind, Parallel
from tuner.schedule.steps import Unroll, Vectorize
from tuner.workload.workload import admit

CHAIN = """
def chain(x: f32[9], y: f32[9]):
    for s in range(9):
        y[s] = x[s]
    for i in {marked}:
        y[i + 1] = y[i] + 1.0
"""
SUM = """
def total(x: f32[8], y: f32[1]):
    y[0] = 0.0
    for i in {marked}:
        y[0] += x[i]
"""
FREE = """
def free(x: f32[8], y: f32[8]):
    for i in {marked}:
        y[i] = x[i] + 1.0
"""
NESTED = """
def nested(x: f32[128, 64], y: f32[128, 64]):
    for i in {outer}:
        for j in {inner}:
            y[i, j] = x[i, j]
"""
BOUND = [f'bound(8, "{axis}")' for axis in AXES]


def _step(loop, marked):
    """The step that would mark `loop` like this."""
    kind, _, axis = marked.partition("(")
    if kind == "bound":
        return Bind(loop, axis.split('"')[1])
    return {"parallel": Parallel, "vectorized": Vectorize, "unrolled": Unroll}[kind](loop)


def _serial(marked):
    return f"range({re.search('[0-9]+', marked)[0]})"


def _assert_refused_alike(text, plain, step):
    """The text is refused with the message of `step` on the canonical form of `plain`."""
    with pytest.raises(ScheduleError) as by_step:
        apply(canonicalize(parse(plain))[0], (step,))
    with pytest.raises(ProgramError) as by_text:
        admit(parse(text))
    assert by_text.value.message == by_step.value.message
    return by_text.value.message


def test_every_kind_of_loop_has_its_check():
    assert CHECKS.keys() == set(LoopKind) - {LoopKind.SERIAL}


@pytest.mark.parametrize("marked", ["parallel(8)", "vectorized(8)", *BOUND])
def test_iterations_that_depend_on_each_other_are_refused(marked):
    message = _assert_refused_alike(
        CHAIN.format(marked=marked), CHAIN.format(marked="range(8)"), _step("l1", marked)
    )
    assert "may meet in different iterations of l1" in message
    assert "b1[1] is written at l1=0 and then read at l1=1" in message


@pytest.mark.parametrize("marked", ["parallel(8)", *BOUND])
def test_accumulations_into_one_element_are_refused(marked):
    message = _assert_refused_alike(
        SUM.format(marked=marked), SUM.format(marked="range(8)"), _step("l0", marked)
    )
    assert "b1[0] (add) may meet in different iterations of l0" in message


@pytest.mark.parametrize(
    "marked", ["range(8)", "unrolled(8)", "parallel(8)", "vectorized(8)", *BOUND]
)
def test_independent_iterations_are_taken(marked):
    assert admit(parse(FREE.format(marked=marked))).flops == 8


def test_a_sum_over_lanes_is_taken():
    assert admit(parse(SUM.format(marked="vectorized(8)"))).flops == 8


@pytest.mark.parametrize(
    ("outer", "inner", "message"),
    [
        ("vectorized(128)", "range(64)", "only an innermost loop can be vectorized; 'l0' contains"),
        ("parallel(128)", "parallel(64)", "'l0' and 'l1' cannot both be parallel, one inside"),
        ("unrolled(128)", "unrolled(64)", "unrolling 'l0' would write out 8192 copies"),
        ('bound(128, "threadIdx.x")', 'bound(64, "threadIdx.x")', "'l1' is bound to threadIdx.x"),
        ('bound(128, "threadIdx.x")', 'bound(64, "blockIdx.x")', "'l1' would be a loop over bloc"),
    ],
)
def test_loops_that_cannot_stand_so(outer, inner, message):
    found = _assert_refused_alike(
        NESTED.format(outer=outer, inner=inner),
        NESTED.format(outer=_serial(outer), inner=inner),
        _step("l0", outer),
    )
    assert message in found


def test_blocks_of_threads_with_a_tile_of_their_own_are_taken():
    text = """
def tiles(x: f32[4, 8], y: f32[4, 8]):
    s = buffer(f32[8], "shared")
    for b in bound(4, "blockIdx.x"):
        for t in bound(8, "threadIdx.x"):
            s[t] = x[b, t]
        for u in bound(8, "threadIdx.x"):
            y[b, u] = s[7 - u]
"""
    assert admit(parse(text)).program.buffer("b2").shape == (8,)
    with pytest.raises(ProgramError, match="may meet in different iterations of l0"):
        admit(parse(text.replace('"shared"', '"global"')))
