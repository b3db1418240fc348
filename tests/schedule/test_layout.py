"""set_scope and transform_layout."""

import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.programs import dense_relu, matmul
from tuner.errors import ScheduleError
from tuner.ir.nodes import Scope
from tuner.ir.show import show_body
from tuner.schedule.apply import apply
from tuner.schedule.steps import CacheWrite, SetScope, Split, TransformLayout, Vectorize

CACHE = CacheWrite("c", "i", "acc", (), (), ("s0", "s1"))


def test_scopes():
    program = assert_same(dense_relu(5, 7, 3), (SetScope("h", "local"),))
    assert program.buffer("h").scope == Scope.LOCAL
    program = assert_same(matmul(5, 7, 3), (CACHE, SetScope("acc", "global")))
    assert program.buffer("acc").scope == Scope.GLOBAL


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (SetScope("z", "local"), "no buffer is called 'z'"),
        (SetScope("x", "local"), "'x' is a parameter: only intermediate buffers can be changed"),
        (SetScope("h", "param"), "a scope is 'local', 'shared' or 'global'; found 'param'"),
        (SetScope("h", "local"), "needs 262144 bytes; at most 65536 may live in registers"),
    ],
)
def test_scope_refusals(step, message):
    with pytest.raises(ScheduleError) as caught:
        apply(dense_relu(256, 256, 1), (step,))
    assert message in caught.value.message


@pytest.mark.parametrize("size", [(8, 6, 5), (7, 5, 3), (1, 1, 1)])
@pytest.mark.parametrize(
    "layout", [("0", "1"), ("1", "0"), ("0//4", "1", "0%4"), ("1%3", "0%2", "0//2", "1//3")]
)
def test_layouts(size, layout):
    program = assert_same(dense_relu(*size), (TransformLayout("h", layout, (8, 6)),))
    assert len(program.buffer("h").shape) == len(layout)


def test_layout_of_a_cache_under_split_and_vectorized_loops():
    steps = (
        CacheWrite("c", "i", "acc", (), (), ("s0", "s1")),
        Split("j", 4, "j0", "j1"),
        Vectorize("s1"),
        TransformLayout("acc", ("1//4", "0", "1%4"), (1, 8)),
    )
    program = assert_same(matmul(3, 7, 2), steps)
    assert program.buffer("acc").shape == (2, 1, 4)
    assert "acc[j0, 0, j1] += a[i, k] * b[k, j0 * 4 + j1]" in show_body(program.body)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (TransformLayout("z", ("0", "1"), ()), "no buffer is called 'z'"),
        (TransformLayout("x", ("1", "0"), ()), "'x' is a parameter: only intermediate buffers"),
        (TransformLayout("h", ("0", "2"), ()), "dimension 1 must stand in the layout once as"),
        (TransformLayout("h", ("0", "1", "2"), ()), "has 2 dimensions; found the layout"),
        (TransformLayout("h", ("0", "i"), ()), "expected 'd', 'd//factor' or 'd%factor'"),
        (
            TransformLayout("h", ("0//4", "1", "0%4"), ()),
            "4 does not divide 7, the extent of dimension 0 of 'h': state in padded that it is "
            "rounded up to 8",
        ),
        (TransformLayout("h", ("0", "1"), (8,)), "padded must be () or one extent per dimension"),
        (TransformLayout("h", ("0", "1"), (6, 5)), "each at least that of (7, 5); found (6, 5)"),
        (TransformLayout("h", ("0", "1"), (1 << 20, 1 << 20)), "at most 1073741824"),
    ],
)
def test_layout_refusals(step, message):
    with pytest.raises(ScheduleError) as caught:
        apply(dense_relu(7, 5, 3), (step,))
    assert message in caught.value.message
