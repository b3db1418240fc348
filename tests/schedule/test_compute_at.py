"""compute_at."""

import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.programs import dense_relu
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.ir.nodes import Scope
from tuner.ir.show import show_body
from tuner.schedule.apply import apply
from tuner.schedule.steps import ComputeAt, Pack, Reorder, Split, Tile, Vectorize

TILE = Tile(("r", "s"), (4, 3), ("r0", "s0"), ("r1", "s1"))


@pytest.mark.parametrize("size", [(8, 6, 5), (7, 5, 3), (1, 1, 1), (3, 2, 1)])
@pytest.mark.parametrize("loop", ["r0", "s0", "r1", "s1"])
@pytest.mark.parametrize("order", [(), (1, 0)])
def test_product_at_each_loop_of_its_use(size, loop, order):
    program = assert_same(dense_relu(*size), (TILE, ComputeAt("h", loop, order)))
    assert program.buffer("h").scope == Scope.LOCAL


def test_tile_is_computed_where_it_is_used():
    program = assert_same(dense_relu(7, 6, 5), (TILE, ComputeAt("h", "s0", (1, 0))))
    assert program.buffer("h").shape == (3, 4)
    assert show_body(program.body) == (
        "for r0 in range(2):\n"
        "    for s0 in range(2):\n"
        "        for i in range(4):\n"
        "            for j in range(3):\n"
        "                if r0 * 4 + i < 7:\n"
        "                    h[j, i] = 0.0\n"
        "                    for k in range(5):\n"
        "                        h[j, i] += x[r0 * 4 + i, k] * w[k, s0 * 3 + j]\n"
        "        for r1 in range(4):\n"
        "            for s1 in range(3):\n"
        "                if r0 * 4 + r1 < 7:\n"
        "                    y[r0 * 4 + r1, s0 * 3 + s1] = max(h[s1, r1] + b[s0 * 3 + s1], 0.0)"
    )


def test_large_tiles_live_in_the_workspace():
    program = apply(dense_relu(200, 200, 2), (ComputeAt("h", "r", ()),))
    assert program.buffer("h").scope == Scope.LOCAL
    tiled = apply(dense_relu(400, 400, 2), (Split("r", 200, "r0", "r1"), ComputeAt("h", "r0", ())))
    assert tiled.buffer("h").scope == Scope.GLOBAL
    assert tiled.buffer("h").shape == (200, 400)


STENCIL = """
def f(x: f32[10, 6], y: f32[8, 6]):
    h = buffer(f32[10, 6])
    for i, j in grid(10, 6):
        h[i, j] = x[i, j] * 2.0
    for r, s in grid(8, 6):
        y[r, s] = h[r, s] + h[r + 1, s] + h[r + 2, 5 - s]
"""


def test_overlapping_tiles_are_computed_again():
    for loop, shape in (("r", (3, 6)), ("r0", (5, 6))):
        steps = (Split("r", 3, "r0", "r1"), ComputeAt("h", loop, ())) if loop == "r0" else (
            ComputeAt("h", loop, ()),
        )  # fmt: skip
        assert assert_same(parse(STENCIL), steps).buffer("h").shape == shape


ROWS = """
def f(x: f32[4, 6], y: f32[4, 6]):
    h = buffer(f32[4, 6])
    m = buffer(f32[4])
    for i in range(4):
        m[i] = 0.0
        for j in range(6):
            m[i] = max(m[i], x[i, j])
        for e in range(6):
            h[i, e] = x[i, e] - m[i]
        for d in range(6):
            y[i, d] = h[i, d] * h[i, d]
"""


def test_within_a_shared_loop():
    program = assert_same(parse(ROWS), (ComputeAt("h", "d", ()),))
    assert program.buffer("h").shape == (1, 1)
    split = (Split("d", 4, "d0", "d1"), ComputeAt("h", "d0", ()), Vectorize("e"), Vectorize("d1"))
    assert_same(parse(ROWS), split)


def test_vectorized_and_reordered_producers_move_too():
    steps = (Reorder(("j", "i")), Vectorize("i"), TILE, ComputeAt("h", "s0", ()))
    program = """
def f(x: f32[7, 5], y: f32[7, 5]):
    h = buffer(f32[7, 5])
    for i, j in grid(7, 5):
        h[i, j] = x[i, j] + 1.0
    for r, s in grid(7, 5):
        y[r, s] = h[r, s] * 2.0
"""
    text = show_body(assert_same(parse(program), steps).body)
    assert "for i in vectorized(4):" in text


TWO = """
def f(x: f32[6], z: f32[6], y: f32[6]):
    h = buffer(f32[6])
    g = buffer(f32[6])
    for v in range(6):
        g[v] = 1.0
    for i in range(6):
        {producer}
    for p in range(6):
        {between}
    for j in range(6):
        y[j] = h[j] * 2.0
    for q in range(6):
        z[q] = {after}
"""
PLAIN = {"producer": "h[i] = x[i]", "between": "g[p] = x[p]", "after": "g[q]"}


def test_unrelated_nests_between_do_not_matter():
    assert_same(parse(TWO.format(**PLAIN)), (ComputeAt("h", "j", ()),))


@pytest.mark.parametrize(
    ("change", "step", "message"),
    [
        ({}, ComputeAt("nope", "j", ()), "no buffer is called 'nope'"),
        ({}, ComputeAt("h", "nope", ()), "no loop is called 'nope'"),
        ({}, ComputeAt("y", "j", ()), "'y' is a parameter: only intermediate buffers can move"),
        ({}, ComputeAt("h", "i", ()), "no statement before the nest of 'i'"),
        ({}, ComputeAt("h", "p", ()), "the body of 'p' does not read 'h'"),
        ({}, ComputeAt("h", "j", (1,)), "order must be () or a permutation of the 1 dimensions"),
        ({"after": "h[q]"}, ComputeAt("h", "j", ()), "'h' is also used outside the nest"),
        ({"between": "h[p] = x[p]"}, ComputeAt("h", "j", ()), "'h' is also used outside the nest"),
        (
            {"producer": "h[i] = x[i]\n        g[i] = 0.0"},
            ComputeAt("h", "j", ()),
            "the nest that writes 'h' also writes g",
        ),
        (
            {"producer": "h[5 - i] = x[i]"},
            ComputeAt("h", "j", ()),
            "h[5 - i]: subscript 0 must be one loop of the nest that writes the buffer",
        ),
        (
            {"producer": "h[i] = g[i]", "between": "g[p] = x[p]", "after": "g[q]"},
            ComputeAt("h", "j", ()),
            "g[p] is written before g[j] would be read in 'j'; for example, g[0] is written at p=0",
        ),
    ],
)
def test_refusals(change, step, message):
    text = TWO.format(**{**PLAIN, **change})
    with pytest.raises(ScheduleError) as caught:
        apply(parse(text), (step,))
    assert message in caught.value.message


@pytest.mark.parametrize("producer", ["if t < 1:\n                h[i] = x[i]", "h[i] += x[i]"])
def test_values_that_outlive_their_iteration_stay(producer):
    text = f"""
def f(x: f32[6], y: f32[6]):
    h = buffer(f32[6])
    for p in range(6):
        y[p] = 0.0
    for t in range(2):
        for i in range(6):
            h[i] = x[0]
            {producer}
        for j in range(6):
            y[j] += h[j]
"""
    if "if" in producer:
        text = text.replace("            h[i] = x[0]\n", "")
        with pytest.raises(ScheduleError, match="is read at t=1, j=0 and not assigned"):
            apply(parse(text), (ComputeAt("h", "j", ()),))
    else:
        assert_same(parse(text), (ComputeAt("h", "j", ()),))


def test_producer_that_fills_a_part_of_its_buffer():
    text = """
def f(x: f32[9], y: f32[4]):
    h = buffer(f32[9])
    for i in range(7):
        h[i] = x[i] * 2.0
    for j in range(4):
        y[j] = h[j + 1]
"""
    pack = Pack("x", "xp", "", ("0//7", "0%7"), ("p", "q"))
    assert_same(parse(text), (Split("j", 16, "j0", "j1"), pack, ComputeAt("h", "j0", ())))


def test_split_producer_cannot_move():
    with pytest.raises(ScheduleError, match="move the buffer before splitting that nest"):
        apply(dense_relu(8, 6, 5), (Split("i", 2, "i0", "i1"), ComputeAt("h", "r", ())))


def test_vectorized_consumer_takes_nothing():
    with pytest.raises(ScheduleError, match="loop 's' is vectorized: move before vectorizing"):
        apply(dense_relu(8, 6, 5), (Vectorize("s"), ComputeAt("h", "s", ())))


def test_nothing_moves_before_it_is_computed():
    swapped = """
def f(x: f32[6], y: f32[6]):
    h = buffer(f32[6])
    for v in range(6):
        h[v] = 0.0
    for t in range(3):
        for j in range(6):
            y[j] = h[j]
        for i in range(6):
            h[i] = x[i]
"""
    with pytest.raises(ScheduleError, match="'h' is also used outside the nest that writes it"):
        apply(parse(swapped), (ComputeAt("h", "j", ()),))
