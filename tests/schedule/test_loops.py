"""split, tile, reorder."""

import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.programs import matmul, scale
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.ir.show import show_body
from tuner.schedule.apply import apply
from tuner.schedule.steps import Reorder, Split, Tile, Unroll, Vectorize


@pytest.mark.parametrize("extent", [1, 2, 7, 12, 13])
@pytest.mark.parametrize("factor", [1, 2, 3, 4, 13, 100])
def test_split_by_any_factor(extent, factor):
    assert_same(scale(extent), (Split("i", factor, "io", "ii"),))


def test_split_of_split_keeps_both_tails():
    split = assert_same(scale(23), (Split("i", 10, "a", "b"), Split("b", 4, "c", "d")))
    assert "if a * 10 + c * 4 + d < 23 and c * 4 + d < 10:" in show_body(split.body)


def test_split_of_the_outer_part():
    assert_same(scale(23), (Split("i", 5, "a", "b"), Split("a", 2, "c", "d")))


def test_guard_stands_below_the_chain():
    split = assert_same(matmul(5, 4, 3), (Split("i", 2, "i0", "i1"),))
    assert show_body(split.body) == (
        "for i0 in range(3):\n"
        "    for i1 in range(2):\n"
        "        for j in range(4):\n"
        "            if i0 * 2 + i1 < 5:\n"
        "                c[i0 * 2 + i1, j] = 0.0\n"
        "                for k in range(3):\n"
        "                    c[i0 * 2 + i1, j] += a[i0 * 2 + i1, k] * b[k, j]"
    )


def test_dividing_factor_needs_no_guard():
    assert "if" not in show_body(apply(matmul(6, 4, 3), (Split("i", 2, "i0", "i1"),)).body)


def test_tile_is_splits_and_a_reorder():
    steps = (
        Split("i", 2, "i0", "i1"),
        Split("j", 3, "j0", "j1"),
        Reorder(("i0", "j0", "i1", "j1")),
    )
    tile = Tile(("i", "j"), (2, 3), ("i0", "j0"), ("i1", "j1"))
    assert assert_same(matmul(5, 7, 3), (tile,)) == apply(matmul(5, 7, 3), steps)


def test_reorder_moves_named_loops_among_their_places():
    program = parse(
        """
def f(x: f32[2, 3, 4], y: f32[2, 3, 4]):
    for i, j, k in grid(2, 3, 4):
        y[i, j, k] = x[i, j, k]
"""
    )
    moved = assert_same(program, (Reorder(("k", "i")),))
    assert show_body(moved.body).startswith(
        "for k in range(4):\n    for j in range(3):\n        for i in range(2):\n"
    )


def test_reorder_takes_guards_along():
    program = parse(
        """
def f(x: f32[4, 4], y: f32[4, 4]):
    for p, q in grid(4, 4):
        y[p, q] = 0.0
    for i in range(4):
        if i < 3:
            for j in range(4):
                y[i, j] = x[i, j]
"""
    )
    moved = assert_same(program, (Reorder(("j", "i")),))
    assert "for j in range(4):\n    for i in range(4):\n        if i < 3:" in show_body(moved.body)


def test_accumulations_may_change_places():
    program = parse(
        """
def f(x: f32[4, 5], y: f32[4]):
    for p in range(4):
        y[p] = 0.0
    for i, k in grid(4, 5):
        y[i] += x[i, k]
"""
    )
    assert_same(program, (Reorder(("k", "i")),))


SHIFTED = """
def f(x: f32[5, 6], y: f32[6, 6]):
    for p, q in grid(6, 6):
        y[p, q] = 1.0
    for i, j in grid(5, 5):
        y[i + 1, j] = y[i, j + 1] + x[i, j]
"""


@pytest.mark.parametrize(
    ("text", "step", "message"),
    [
        (SHIFTED, Reorder(("j", "i")), "may meet in different iterations of i, j"),
        (SHIFTED, Reorder(("i", "q")), "q must stand in one chain with i"),
        (SHIFTED, Reorder(("i", "i")), "expected different loops; found ('i', 'i')"),
        (SHIFTED, Reorder(()), "expected different loops; found ()"),
        (SHIFTED, Reorder(("i", "z")), "no loop is called 'z'; there are: p, q, i, j"),
        (SHIFTED, Split("z", 2, "a", "b"), "no loop is called 'z'; there are: p, q, i, j"),
        (SHIFTED, Split("i", 0, "a", "b"), "factor must be between 1 and 1048576; found 0"),
        (SHIFTED, Split("i", -3, "a", "b"), "factor must be between 1 and 1048576; found -3"),
        (SHIFTED, Split("i", 2, "a", "a"), "the name 'a' is taken"),
        (SHIFTED, Split("i", 2, "a", "j"), "the name 'j' is taken"),
        (SHIFTED, Split("i", 2, "y", "b"), "the name 'y' is taken"),
        (SHIFTED, Split("i", 2, "a b", "b"), "'a b' cannot name a loop or buffer"),
        (SHIFTED, Tile(("i", "j"), (2,), ("a", "b"), ("c", "d")), "factors: expected 2, found 1"),
        (SHIFTED, Tile(("i",), (2,), (), ("c",)), "outer names: expected 1, found 0"),
        (SHIFTED, Tile(("i", "j"), (2, 2), ("a", "b"), ("c", "d")), "must keep their order"),
    ],
)
def test_refusals(text, step, message):
    with pytest.raises(ScheduleError) as caught:
        apply(parse(text), (step,))
    assert message in caught.value.message


def test_reduction_is_not_reordered_with_its_start_value_inside():
    with pytest.raises(ScheduleError, match="k must stand in one chain with j"):
        apply(matmul(4, 4, 4), (Reorder(("k", "j")),))


@pytest.mark.parametrize("annotate", [Unroll("i"), Vectorize("i")])
def test_annotated_loops_are_not_changed(annotate):
    with pytest.raises(ScheduleError, match="change a loop before it is annotated"):
        apply(scale(8), (annotate, Split("i", 2, "a", "b")))


def test_loops_do_not_move_past_a_vectorized_one():
    program = parse(
        """
def f(x: f32[2, 3, 4], y: f32[2, 3, 4]):
    for i, j, k in grid(2, 3, 4):
        y[i, j, k] = x[i, j, k]
"""
    )
    with pytest.raises(ScheduleError, match="'k' is already vectorized"):
        apply(program, (Vectorize("k"), Reorder(("k", "j"))))
    assert_same(program, (Vectorize("k"), Reorder(("j", "i"))))
