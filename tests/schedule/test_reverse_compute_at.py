"""reverse_compute_at."""

import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.programs import LAYERS, dense_relu
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.ir.nodes import Scope
from tuner.ir.show import show_body
from tuner.schedule.apply import apply
from tuner.schedule.steps import (
    CacheWrite,
    DecomposeReduction,
    Inline,
    Reorder,
    ReverseComputeAt,
    Schedule,
    Split,
    Tile,
    Vectorize,
)

TILE = Tile(("i", "j"), (4, 3), ("i0", "j0"), ("i1", "j1"))


@pytest.mark.parametrize("size", [(8, 6, 5), (7, 5, 3), (1, 1, 1), (3, 2, 1), (9, 13, 2)])
@pytest.mark.parametrize("loop", ["i0", "j0", "i1", "j1"])
def test_bias_and_relu_after_each_tile_of_a_product(size, loop):
    program = assert_same(dense_relu(*size), (TILE, ReverseComputeAt("y", loop)))
    assert program.buffer("h").scope == Scope.LOCAL
    assert len(program.body) == 1


def test_tile_and_epilogue():
    program = assert_same(dense_relu(7, 6, 5), (TILE, ReverseComputeAt("y", "j0")))
    assert program.buffer("h").shape == (4, 3)
    assert show_body(program.body) == (
        "for i0 in range(2):\n"
        "    for j0 in range(2):\n"
        "        for i1 in range(4):\n"
        "            for j1 in range(3):\n"
        "                if i0 * 4 + i1 < 7:\n"
        "                    h[i1, j1] = 0.0\n"
        "                    for k in range(5):\n"
        "                        h[i1, j1] += x[i0 * 4 + i1, k] * w[k, j0 * 3 + j1]\n"
        "        for r in range(4):\n"
        "            for s in range(3):\n"
        "                if i0 * 4 + r < 7:\n"
        "                    y[i0 * 4 + r, j0 * 3 + s] = max(h[r, s] + b[j0 * 3 + s], 0.0)"
    )


def test_two_stages_one_after_the_other_or_inlined_first():
    for first in (ReverseComputeAt("g", "j0"), Inline("g")):
        steps = (TILE, first, ReverseComputeAt("y", "j0"), Vectorize("s"))
        assert len(assert_same(parse(LAYERS), steps).body) == 1


def test_blocked_reduction_that_ends_in_a_store_of_its_tile():
    steps = (
        TILE,
        CacheWrite("h", "j0", "acc", (), (), ("u", "v")),
        DecomposeReduction("acc", "i1", ("z0", "z1")),
        Split("k", 2, "k0", "k1"),
        Reorder(("k0", "i1", "j1", "k1")),
        ReverseComputeAt("y", "j0"),
    )
    assert_same(dense_relu(7, 5, 3), steps)


def test_start_values_elsewhere_keep_the_buffer_as_it_is():
    steps = (DecomposeReduction("h", "i", ("z0", "z1")), TILE, ReverseComputeAt("y", "j0"))
    assert assert_same(dense_relu(7, 5, 3), steps).buffer("h").shape == (7, 5)


def test_what_is_an_output_too_keeps_its_place():
    text = """
def f(x: i32[7], h: i32[7], y: i32[7]):
    for o in range(2):
        for i in range(7):
            h[i] = x[i] + o
        for j in range(7):
            y[j] = h[j] * 2
"""
    program = assert_same(parse(text), (Split("i", 4, "i0", "i1"), ReverseComputeAt("y", "i0")))
    assert "y[i0 * 4 + j] = h[i0 * 4 + j] * 2" in show_body(program.body)


def test_row_sums_after_whole_rows():
    text = """
def f(x: f32[5, 4], y: f32[5]):
    h = buffer(f32[5, 4])
    for i, j in grid(5, 4):
        h[i, j] = x[i, j] * 2.0
    for r in range(5):
        y[r] = 0.0
        for c in range(4):
            y[r] += h[r, c]
"""
    steps = (Split("i", 2, "i0", "i1"),)
    assert_same(parse(text), (*steps, ReverseComputeAt("y", "i0")))
    assert_same(parse(text), (*steps, ReverseComputeAt("y", "i1")))
    _refused(text, (ReverseComputeAt("y", "j"),), "stands outside of c: it would run once for each")


def test_a_consumer_that_uses_its_own_results():
    text = _text(WHOLE, "y[m] = h[m] + y[m - 1] if m >= 1 else 0")
    text = text.replace("t[p] = x[p]", "t[p] = x[p]\n        y[p] = 0")
    message = "may meet in different tiles, which are computed in another order"
    _refused(text, (ReverseComputeAt("y", "i"),), message)


def _refused(text: str, steps: Schedule, message: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        apply(parse(text), steps)
    assert message in caught.value.message


def _text(produce: str, consume: str, between: str = "") -> str:
    return f"""
def f(x: i32[8], t: i32[8], y: i32[8]):
    h = buffer(i32[8])
    for p in range(8):
        t[p] = x[p]
        h[p] = 1
    for i in range(4):
        for j in range(2):
            {produce}
{between}
    for m in range(8):
        {consume}
"""


@pytest.mark.parametrize(
    ("produce", "consume", "loops"),
    [
        ("h[2 * i + j] = x[i] + i32(j)", "y[m] = h[m]", "ij"),
        ("h[i + 4 * j] = x[i] + i32(j)", "y[m] = h[m] + t[m]", "j"),
        ("h[2 * i + j] = t[2 * i + j]", "y[7 - m] = h[m]", "ij"),
        ("h[2 * i + j] = x[i] + t[j]", "t[m] = h[m]", ""),
        ("h[2 * i + j] = x[i] + t[j]", "y[0] = h[m]", ""),
        ("h[2 * i + j] = x[i] + t[j]", "y[0] += h[m]", "ij"),
    ],
)
def test_at_either_loop(produce, consume, loops):
    text = _text(produce, consume)
    if "t[m] =" in consume:
        text += "        y[m] = 1\n"
    if "y[0] +=" in consume:
        text = text.replace("t[p] = x[p]", "t[p] = x[p]\n        y[p] = 0")
    for loop in "ij":
        step = ReverseComputeAt(consume[0], loop)
        if loop in loops:
            assert_same(parse(text), (step,))
        else:
            with pytest.raises(ScheduleError):
                apply(parse(text), (step,))


def test_consumer_that_moves_as_it_is():
    text = """
def f(x: i32[4], y: i32[4]):
    h = buffer(i32[1])
    for o in range(3):
        for i in range(1):
            h[i] = x[o]
        for j in range(4):
            y[j] = h[0]
"""
    assert_same(parse(text), (ReverseComputeAt("y", "i"),))


WHOLE = "h[2 * i + j] = x[i]"


@pytest.mark.parametrize(
    ("produce", "consume", "loop", "message"),
    [
        (WHOLE, "y[m] = h[m]", "z", "no loop is called 'z'"),
        (WHOLE, "y[m] = h[m]", "m", "no statement after the nest of 'm', in a block around it"),
        (WHOLE, "y[m] = x[m]", "i", "reads nothing that the body of 'i' makes"),
        ("h[i] = x[i]", "y[m] = h[m]", "i", "of 'h' do not hold all that h[m] uses: the consumer"),
        ("h[i] += x[i]", "y[m] = h[m]", "j", "h[i] may be written in several iterations of j"),
        ("h[i + j] = x[i]", "y[m] = h[m]", "i", "may be written in several iterations of i: after"),
        ("h[4 * j] = x[i]", "y[m] = h[m]", "i", "may be written in several iterations of i"),
        ("h[2 * i] = x[i]", "y[m] = h[m]", "i", "do not hold all that h[m] uses"),
        (WHOLE, "y[m] = h[7 - m]", "i", "subscript 0 must be one loop of the nest that computes"),
        (WHOLE, "y[m] = h[m] + h[0]", "i", "subscript 0 must be one loop of the nest"),
        ("h[2 * i + j] = t[i]", "t[m] = h[m]", "i", "t[m] cannot move ahead of t[i], which may"),
    ],
)
def test_refusals(produce, consume, loop, message):
    text = _text(produce, consume)
    if "y[" not in consume:
        text += "        y[m] = 1\n"
    _refused(text, (ReverseComputeAt(consume[0], loop),), message)


def test_refusals_for_what_stands_around_and_between():
    text = _text("if i < 2:\n                h[2 * i + j] = x[i]", "y[m] = h[m]")
    _refused(text, (ReverseComputeAt("y", "j"),), "may not write the whole tile (1,) of 'h'")
    guarded = text.replace(
        "for j in range(2):\n            if i < 2:\n                h",
        "if i < 2:\n            for j in range(2):\n                h",
    )
    _refused(guarded, (ReverseComputeAt("y", "j"),), "a guard stands around 'j': what it keeps out")
    between = _text(WHOLE, "y[m] = h[m]", "    for q in range(8):\n        h[q] = 3")
    _refused(between, (ReverseComputeAt("y", "i"),), "h[q] is written after 'i', before it is used")
    between = _text(WHOLE, "y[m] = h[m] + t[m]", "    for q in range(8):\n        t[q] = 3")
    _refused(between, (ReverseComputeAt("y", "i"),), "t[m] cannot move ahead of t[q], which may")
    beside = _text(WHOLE, "y[m] = h[m]").replace(
        "        for j in", "        h[2 * i] = 4\n        for j in"
    )
    _refused(beside, (ReverseComputeAt("y", "j"),), "'h' is also written beside 'j', in the same")
    lanes = (Vectorize("j"), ReverseComputeAt("y", "j"))
    _refused(_text(WHOLE, "y[m] = h[m]"), lanes, "loop 'j' is vectorized: move before vectorizing")
