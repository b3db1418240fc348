"""parallel."""

import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.programs import matmul, scale, softmax
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.ir.show import show, show_body
from tuner.schedule.apply import apply
from tuner.schedule.loop_steps import Parallel
from tuner.schedule.steps import (
    CacheWrite,
    ComputeAt,
    DecomposeReduction,
    Pack,
    Reorder,
    Rfactor,
    Split,
    Vectorize,
)

_REUSED = """
def f(x: f32[6, 8], y: f32[6, 8]):
    t = buffer(f32[8])
    for i in range(6):
        for j in range(8):
            t[j] = x[i, j] * 2.0
        for k in range(8):
            y[i, k] = t[7 - k]
"""


def _one_loop(statement: str) -> str:
    return f"""
def f(x: f32[20], y: f32[20]):
    for p in range(20):
        y[p] = 1.0
    for i in range(8):
        {statement}
"""


@pytest.mark.parametrize(
    "statement",
    ["y[i] = x[i]", "y[2 * i + 1] += x[i]", "y[i] = y[i + 8]", "y[7 - i] = y[7 - i] * x[3]"],
)
def test_iterations_that_never_meet(statement):
    scheduled = assert_same(parse(_one_loop(statement)), (Parallel("i"), Parallel("p")))
    assert "for i in parallel(8):" in show_body(scheduled.body)
    assert parse(show(scheduled)) == scheduled


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("y[i + 1] = y[i]", "y[i] (read) and y[i + 1] (written) may meet in different iterations"),
        ("y[i // 2] = x[i]", "y[i // 2] (assign) may meet in different iterations of i"),
        ("y[0] += x[i]", "y[0] (add) may meet in different iterations of i: they cannot run"),
        ("y[i % 4] = max(y[i % 4], x[i])", "y[i % 4] (max) may meet in different iterations of i"),
        ("y[0] = x[i]", "y[0] (assign) may meet in different iterations of i"),
    ],
)
def test_iterations_that_meet(statement, message):
    with pytest.raises(ScheduleError) as caught:
        apply(parse(_one_loop(statement)), (Parallel("i"),))
    assert message in caught.value.message


def test_a_private_buffer_of_the_workspace_is_copied():
    scheduled = assert_same(parse(_REUSED), (Parallel("i"),))
    assert scheduled.buffer("t").shape == (6, 8)
    assert "y[i, k] = t[i, 7 - k]" in show_body(scheduled.body)


def test_a_private_local_buffer_stays():
    program = parse(_REUSED.replace("f32[8])", 'f32[8], "local")'))
    assert assert_same(program, (Parallel("i"),)).buffer("t").shape == (8,)


def test_copies_are_limited():
    text = _REUSED.replace("(6)", "(4096)").replace("8", "32768").replace("7 ", "32767 ")
    with pytest.raises(ScheduleError, match="4096 copies need 536870912 bytes, more than"):
        apply(parse(text.replace("[6,", "[4096,")), (Parallel("i"),))


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.replace("for j in range(8)", "for j in range(7)"),
        lambda t: t.replace("            t[j] =", "            if i < 3:\n                t[j] ="),
        lambda t: t + "    for q in range(8):\n        y[0, q] = t[q]\n",
    ],
    ids=["partly written", "guarded", "used later"],
)
def test_a_buffer_that_passes_values_on(change):
    text = "    for s in range(8):\n        t[s] = 0.0\n    for i in range(6)"
    program = parse(change(_REUSED).replace("    for i in range(6)", text))
    with pytest.raises(ScheduleError, match="may meet in different iterations of i"):
        apply(program, (Parallel("i"),))


def test_one_level_of_threads():
    with pytest.raises(ScheduleError, match="'j' and 'i' cannot both be parallel"):
        apply(matmul(4, 4, 4), (Parallel("i"), Parallel("j")))
    with pytest.raises(ScheduleError, match="'i' and 'j' cannot both be parallel"):
        apply(matmul(4, 4, 4), (Parallel("j"), Parallel("i")))
    with pytest.raises(ScheduleError, match="loop 'i' is already parallel"):
        apply(scale(8), (Parallel("i"), Vectorize("i")))


def test_with_the_other_primitives():
    steps = (
        Pack("b", "bp", "", ("1//4", "0", "1%4"), ("p0", "p1", "p2")),
        Split("i", 2, "io", "ii"),
        Split("j", 4, "jo", "ji"),
        Reorder(("io", "jo", "ii", "ji")),
        CacheWrite("c", "jo", "acc", (), (), ("s0", "s1")),
        DecomposeReduction("acc", "ii", ("z0", "z1")),
        Parallel("io"),
        Parallel("p0"),
        Reorder(("k", "ii", "ji")),
    )
    assert_same(matmul(5, 7, 3), steps)
    partial = (DecomposeReduction("c", "i", ("z0", "z1")), Split("k", 2, "ko", "ki"))
    partial = (*partial, Rfactor("ki", "r", "s", "t"), Parallel("i"))
    assert_same(matmul(3, 4, 8), partial)
    assert_same(softmax(4, 8), (Parallel("i"),))


def test_buffers_with_an_element_for_each_iteration_are_not_copied():
    before, after = softmax(4, 8), assert_same(softmax(4, 8), (Parallel("i"),))
    assert [(b.name, b.shape) for b in after.locals] == [(b.name, b.shape) for b in before.locals]


def test_later_steps_must_not_bring_iterations_together():
    program = parse("""
def f(x: f32[8], y: f32[8]):
    h = buffer(f32[8])
    for j in range(8):
        h[j] = x[j] * 2.0
    for i in range(8):
        y[i] = h[i] * 3.0
""")
    pack = Pack("h", "p", "i", ("0",), ("q",))
    with pytest.raises(ScheduleError, match="step 2, pack") as caught:
        apply(program, (Parallel("i"), pack))
    assert "p[q] (assign) may meet in different iterations of i" in caught.value.message
    assert_same(program, (pack, Parallel("i")))
    assert_same(program, (ComputeAt("h", "i", ()), Parallel("i")))
