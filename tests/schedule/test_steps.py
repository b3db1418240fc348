"""Steps as data: text and JSON."""

import json

import pytest

from tests.schedule.recipes import fused_dense_relu, packed_matmul, row_softmax
from tuner.errors import ScheduleError
from tuner.schedule.steps import (
    Pack,
    Reorder,
    Split,
    Tile,
    is_name,
    schedule_from_json,
    schedule_to_json,
    step_text,
)


def test_json_form_is_stable():
    schedule = (Split("l0", 14, "i0", "i1"), Reorder(("i1", "i0")))
    assert json.dumps(schedule_to_json(schedule)) == (
        '{"version": 1, "steps": [{"step": "split", "loop": "l0", "factor": 14, "outer": "i0", '
        '"inner": "i1"}, {"step": "reorder", "loops": ["i1", "i0"]}]}'
    )


@pytest.mark.parametrize(
    "schedule",
    [
        (),
        packed_matmul(6, 8, 4, 4),
        fused_dense_relu(6, 8, 4, True),
        row_softmax(4, 2),
        (Tile(("a", "b"), (2, 3), ("c", "d"), ("e", "f")),),
    ],
    ids=["empty", "matmul", "dense", "softmax", "tile"],
)
def test_json_round_trip(schedule):
    assert schedule_from_json(json.loads(json.dumps(schedule_to_json(schedule)))) == schedule
    assert hash(schedule) == hash(tuple(schedule))


def test_step_text_is_a_call():
    assert step_text(Split("l0", 14, "i0", "i1")) == (
        "split(loop='l0', factor=14, outer='i0', inner='i1')"
    )
    assert step_text(Pack("b", "p", "", ("0//4", "0%4"), ("u", "v"))) == (
        "pack(buffer='b', packed='p', loop='', layout=('0//4', '0%4'), loops=('u', 'v'))"
    )


SPLIT = {"step": "split", "loop": "i", "factor": 2, "outer": "a", "inner": "b"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "expected a schedule of the form"),
        ([], "expected a schedule of the form"),
        ({"version": 2, "steps": []}, '"version": 1'),
        ({"version": 1, "steps": {}}, '"steps" must be a list of at most 512'),
        ({"version": 1, "steps": [SPLIT] * 513}, '"steps" must be a list of at most 512'),
        ({"version": 1, "steps": [3]}, "step 1: expected an object, found int"),
        ({"version": 1, "steps": [SPLIT, {"step": "melt"}]}, "step 2: unknown step 'melt'; there"),
        ({"version": 1, "steps": [{"step": ["split"]}]}, "step 1: unknown step"),
        ({"version": 1, "steps": [{"step": "unroll"}]}, "step 1: unroll takes loop; found"),
        ({"version": 1, "steps": [{**SPLIT, "x": 1}]}, "takes loop, factor, outer, inner; found"),
        ({"version": 1, "steps": [{**SPLIT, "factor": "2"}]}, "factor: expected int, found '2'"),
        ({"version": 1, "steps": [{**SPLIT, "factor": True}]}, "factor: expected int, found True"),
        ({"version": 1, "steps": [{**SPLIT, "factor": 1 << 40}]}, "factor: expected int"),
        ({"version": 1, "steps": [{**SPLIT, "loop": 1}]}, "loop: expected str, found 1"),
        ({"version": 1, "steps": [{**SPLIT, "loop": "x" * 65}]}, "loop: expected str"),
        ({"version": 1, "steps": [{"step": "reorder", "loops": "ij"}]}, "expected tuple[str, ...]"),
        ({"version": 1, "steps": [{"step": "reorder", "loops": [1]}]}, "expected tuple[str, ...]"),
        ({"version": 1, "steps": [{"step": "reorder", "loops": ["i"] * 65}]}, "loops: expected"),
    ],
)
def test_other_json_is_refused(data, message):
    with pytest.raises(ScheduleError) as caught:
        schedule_from_json(data)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["i0", "acc", "_x", "A_1"])
def test_names(name):
    assert is_name(name)


@pytest.mark.parametrize("name", ["", "1a", "a-b", "for", "f32", "range", "exp", "é", "a" * 33, 7])
def test_what_cannot_be_a_name(name):
    assert not is_name(name)
