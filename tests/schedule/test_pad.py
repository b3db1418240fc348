"""pad."""

import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.programs import matmul
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.ir.show import show_body
from tuner.schedule.apply import apply
from tuner.schedule.steps import DecomposeReduction, Pad, Reorder, Split, Tile, Unroll, Vectorize


@pytest.mark.parametrize("size", [(5, 7, 3), (1, 1, 1), (3, 2, 8)])
@pytest.mark.parametrize("more", [0, 1, 5])
def test_reduction_of_a_product(size, more):
    program = assert_same(matmul(*size), (Pad("k", size[2] + more),))
    assert ("if k <" in show_body(program.body)) == (more > 0)


def test_no_tail_after_a_split():
    steps = (Pad("k", 8), Split("k", 4, "k0", "k1"), Unroll("k1"))
    text = show_body(assert_same(matmul(3, 2, 7), steps).body)
    assert "c[i, j] += a[i, k0 * 4 + k1] * b[k0 * 4 + k1, j] if k0 * 4 + k1 < 7 else 0.0" in text


def test_around_tiles_and_lanes():
    steps = (
        DecomposeReduction("c", "i", ("z0", "z1")),
        Tile(("i", "j"), (4, 3), ("i0", "j0"), ("i1", "j1")),
        Reorder(("k", "i0", "j0", "i1", "j1")),
        Vectorize("j1"),
        Pad("k", 6),
    )
    assert_same(matmul(7, 5, 3), steps)


@pytest.mark.parametrize("dtype", ["i8", "u8", "i32", "f64"])
@pytest.mark.parametrize(
    ("start", "update"),
    [("1", "y[0] += x[k]"), ("1", "y[0] *= x[k]"), ("9", "y[0] = min(y[0], x[k])"),
     ("0", "y[0] = max(y[0], x[k])")],
)  # fmt: skip
def test_every_reducer(dtype, start, update):
    text = f"""
def f(x: {dtype}[5], y: {dtype}[1]):
    y[0] = {start}
    for k in range(5):
        {update}
"""
    assert_same(parse(text), (Pad("k", 8),))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Pad("z", 8), "no loop is called 'z'"),
        (Pad("k", 3), "extent must be between that of 'k', 4, and 1048576; found 3"),
        (Pad("k", 1 << 21), "and 1048576; found 2097152"),
        (Pad("j", 8), "'c' is assigned in 'j': expected accumulations only; decompose the red"),
    ],
)
def test_refusals(step, message):
    with pytest.raises(ScheduleError) as caught:
        apply(matmul(4, 4, 4), (step,))
    assert message in caught.value.message


def test_loops_that_the_result_moves_with():
    steps = (DecomposeReduction("c", "i", ("z0", "z1")), Pad("j", 8))
    with pytest.raises(ScheduleError, match="into 'c' moves with 'j', so that more iterations"):
        apply(matmul(4, 4, 4), steps)


def test_annotated_loops():
    with pytest.raises(ScheduleError, match="loop 'k' is already unrolled"):
        apply(matmul(4, 4, 4), (Unroll("k"), Pad("k", 8)))
