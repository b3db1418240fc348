"""Knobs, constraints and the sizes that stand for knobs."""

import numpy as np
import pytest

from tuner.errors import EmptySpaceError
from tuner.space.knobs import Constraint, Knob, Size, columns, evaluate, grid
from tuner.space.space import MAX_PART_POINTS, Part, Sketch, Space


class Pair(Part):
    """A part of some knobs, without steps."""

    name = "pair"

    def __init__(self, knobs, constraints=()):
        self.knobs, self.constraints = tuple(knobs), tuple(constraints)

    def steps(self, values):
        return ()

    def guesses(self, schedule):
        return []


A, B = Knob("a", (1, 2, 4)), Knob("b", (3, 5))


def test_grid_has_every_combination_once():
    values = columns((A, B), grid((A, B)))
    assert sorted(zip(values["a"], values["b"], strict=True)) == [
        (1, 3), (1, 5), (2, 3), (2, 5), (4, 3), (4, 5),
    ]  # fmt: skip


def test_no_knobs_are_one_point():
    assert Space([Sketch(())]).size == 1


def test_constraint_removes_points():
    small = Constraint("a * b <= 10", lambda v: v["a"] * v["b"] <= 10)
    space = Space([Sketch([Pair((A, B), (small,))])])
    assert space.size == 4
    drawn = space.sample(np.random.default_rng(0), 200)
    values = space.columns(0, drawn)
    assert (values["a"] * values["b"] <= 10).all()
    assert len(set(drawn.keys())) == 4


def test_empty_space_names_the_constraint():
    never = Constraint("a fits nowhere", lambda v: v["a"] > 99)
    with pytest.raises(EmptySpaceError, match="pair: no point satisfies 'a fits nowhere'"):
        Space([Sketch([Pair((A, B), (never,))])])


def test_one_empty_sketch_is_left_out():
    never = Constraint("never", lambda v: v["a"] > 99)
    assert Space([Sketch([Pair((A,), (never,))]), Sketch([Pair((B,))])]).size == 2


def test_no_sketches_are_an_empty_space():
    with pytest.raises(EmptySpaceError, match="no rule offers a sketch"):
        Space([])


def test_a_part_with_too_many_points_is_refused():
    wide = [Knob(str(i), tuple(range(64))) for i in range(4)]
    with pytest.raises(EmptySpaceError, match=f"at most {MAX_PART_POINTS}"):
        Space([Sketch([Pair(wide)])])


def test_parts_multiply():
    assert Sketch([Pair((A,)), Pair((B,))]).size == 6


def test_size_is_multiplied_printed_and_evaluated():
    size = Size(("a",)) * 16 * Size(("b",))
    assert f"0//{size}" == "0//a*b*16"
    values = {"a": np.array([1, 2]), "b": np.array([3, 5])}
    assert evaluate(size, values).tolist() == [48, 160]
    assert evaluate("a*b*16", values).tolist() == [48, 160]
    assert evaluate(7, values).tolist() == [7]


def test_size_is_never_compared():
    with pytest.raises(
        TypeError, match=r"a\*1 is compared with 1, but its knobs are not structural"
    ):
        assert Size(("a",)) == 1
    assert Size(("a",))


def test_values_of_one_kind_lead_to_the_same_steps():
    assert Knob("k", (0, 2, 4)).kinds().tolist() == [0, 1, 1]
    assert Knob("k", (0, 2, 4), structural=True).kinds().tolist() == [0, 1, 2]
