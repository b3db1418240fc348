"""bind."""

import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.programs import matmul, softmax
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.ir.nodes import LoopKind
from tuner.ir.show import show, show_body
from tuner.ir.visit import loops
from tuner.schedule.apply import apply
from tuner.schedule.loop_steps import Bind
from tuner.schedule.steps import CacheWrite, DecomposeReduction, Reorder, Split

_COPY = """
def f(x: f32[20], y: f32[20]):
    for i in range(4):
        for j in range(5):
            y[i * 5 + j] = x[i * 5 + j]
"""


def test_blocks_and_threads():
    scheduled = assert_same(parse(_COPY), (Bind("j", "threadIdx.x"), Bind("i", "blockIdx.y")))
    assert show_body(scheduled.body).splitlines()[:2] == [
        'for i in bound(4, "blockIdx.y"):',
        '    for j in bound(5, "threadIdx.x"):',
    ]
    assert parse(show(scheduled)) == scheduled


def test_rows_of_a_softmax_with_a_tail():
    scheduled = assert_same(
        softmax(5, 6),
        (Split("i", 2, "ib", "it"), Bind("ib", "blockIdx.x"), Bind("it", "threadIdx.x")),
        rtol=1e-6,
    )
    assert "if ib * 2 + it < 5:" in show_body(scheduled.body)


def test_a_tile_of_each_thread_with_guards():
    scheduled = assert_same(
        matmul(7, 6, 5),
        (
            Split("i", 4, "ib", "it"),
            Reorder(("ib", "j", "it")),
            CacheWrite("c", "j", "acc", (), (), ("s0", "s1")),
            DecomposeReduction("acc", "it", ("z",)),
            Bind("ib", "blockIdx.x"),
            Bind("j", "threadIdx.x"),
        ),
    )
    assert [f.kind for f in loops(scheduled.body)][:2] == [LoopKind.BLOCK_X, LoopKind.THREAD_X]


_SHARED = """
def f(x: f32[8, 4], y: f32[8, 4]):
    s = buffer(f32[4], "shared")
    for b in range(8):
        for t in range(4):
            s[t] = x[b, t]
        for u in range(4):
            y[b, u] = s[3 - u]
"""


def test_a_shared_buffer_is_its_blocks_own():
    assert_same(
        parse(_SHARED),
        (Bind("b", "blockIdx.x"), Bind("t", "threadIdx.x"), Bind("u", "threadIdx.x")),
    )
    with pytest.raises(ScheduleError) as caught:
        apply(parse(_SHARED), (Bind("b", "threadIdx.y"),))
    assert "may meet in different iterations of b" in caught.value.message
    with pytest.raises(ScheduleError):
        apply(parse(_SHARED.replace('"shared"', '"global"')), (Bind("b", "blockIdx.x"),))


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((Bind("i", "warpIdx.x"),), "no axis is called 'warpIdx.x'; there are: blockIdx.x,"),
        ((Bind("k", "blockIdx.x"),), "no loop is called 'k'"),
        ((Bind("i", "blockIdx.x"), Bind("i", "blockIdx.y")), "loop 'i' is already blockIdx.x"),
        (
            (Bind("i", "threadIdx.x"), Bind("j", "threadIdx.x")),
            "'i' is bound to threadIdx.x already, and one of it and 'j' stands in the other",
        ),
        (
            (Bind("j", "threadIdx.x"), Bind("i", "threadIdx.x")),
            "'j' is bound to threadIdx.x already, and one of it and 'i' stands in the other",
        ),
        (
            (Bind("i", "threadIdx.x"), Bind("j", "blockIdx.x")),
            "'j' would be a loop over blocks inside 'i', which is over threads",
        ),
        (
            (Bind("j", "blockIdx.x"), Bind("i", "threadIdx.x")),
            "'j' would be a loop over blocks inside 'i', which is over threads",
        ),
    ],
)
def test_what_cannot_be_bound(steps, message):
    with pytest.raises(ScheduleError) as caught:
        apply(parse(_COPY), steps)
    assert message in caught.value.message


@pytest.mark.parametrize("statement", ["y[0] += x[i]", "y[i + 1] = y[i]", "y[i // 2] = x[i]"])
@pytest.mark.parametrize("axis", ["blockIdx.x", "threadIdx.z"])
def test_iterations_that_meet(statement, axis):
    program = parse(
        f"def f(x: f32[20], y: f32[20]):\n    for p in range(20):\n        y[p] = 1.0\n"
        f"    for i in range(8):\n        {statement}\n"
    )
    with pytest.raises(ScheduleError) as caught:
        apply(program, (Bind("i", axis),))
    assert "may meet in different iterations of i" in caught.value.message


def test_later_steps_keep_iterations_apart():
    """A step that would make bound iterations meet is refused."""
    program = parse(
        """
def f(x: f32[4, 4], y: f32[4]):
    for p in range(4):
        y[p] = 0.0
    for k in range(4):
        for i in range(4):
            y[i] += x[k, i]
"""
    )
    steps = (Bind("i", "threadIdx.x"),)
    assert_same(program, steps)
    with pytest.raises(ScheduleError):
        apply(program, (*steps, Bind("k", "threadIdx.y")))
