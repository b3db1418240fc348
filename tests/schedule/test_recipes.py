"""The schedules that spaces generate, on sizes that divide and sizes that do not."""

import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.programs import conv2d, dense_relu, matmul, softmax
from tests.schedule.recipes import (
    blocked_matmul,
    conv_over_columns,
    conv_over_filters,
    fused_dense_relu,
    packed_matmul,
    row_softmax,
)
from tuner.ir.show import show
from tuner.ir.verify import verify
from tuner.ir.visit import loops
from tuner.schedule.apply import apply

SIZES = [(37, 13, 11), (1, 1, 1), (12, 16, 8), (5, 29, 7)]


@pytest.mark.parametrize("size", SIZES)
def test_packed_matmul(size):
    assert_same(matmul(*size), packed_matmul(6, 8, 4, 4))


@pytest.mark.parametrize("size", SIZES)
def test_blocked_matmul(size):
    assert_same(matmul(*size), blocked_matmul(6, 8, 4))


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("size", SIZES)
def test_fused_dense_relu(size, packed):
    assert_same(dense_relu(*size), fused_dense_relu(6, 8, 2, packed))


@pytest.mark.parametrize("recipe", [conv_over_filters, conv_over_columns])
@pytest.mark.parametrize("size", [(2, 6, 5, 3, 1), (1, 1, 1, 1, 0), (3, 5, 8, 3, 0)])
def test_conv2d(size, recipe):
    assert_same(conv2d(*size), recipe(4, 3))


@pytest.mark.parametrize("size", [(3, 37), (1, 1), (2, 16), (2, 5)])
def test_softmax(size):
    assert_same(softmax(*size), row_softmax(4, 2), rtol=1e-5)


@pytest.mark.parametrize(
    ("program", "schedule"),
    [
        (matmul(127, 509, 251), packed_matmul(14, 32, 4, 16)),
        (matmul(127, 509, 251), blocked_matmul(14, 32, 64)),
        (dense_relu(127, 509, 251), fused_dense_relu(14, 32, 4, True)),
        (dense_relu(127, 509, 251), fused_dense_relu(14, 32, 4, False)),
        (conv2d(67, 53, 61, 3, 1), conv_over_filters(32, 7)),
        (conv2d(67, 53, 61, 3, 1), conv_over_columns(6, 16)),
        (softmax(127, 509), row_softmax(16, 4)),
    ],
    ids=["packed", "blocked", "fused-packed", "fused", "filters", "columns", "softmax"],
)
def test_large_odd_sizes_stay_in_bounds(program, schedule):
    verify(apply(program, schedule))


def test_padded_packing_frees_the_inner_loops_of_guards():
    text = show(apply(matmul(37, 13, 12), packed_matmul(6, 8, 4, 4)))
    inner = text[text.index("for z0") : text.index("for s0")]
    assert "if" not in inner
    assert "if i0 * 6 + s0 < 37 and j0 * 8 + s1 < 13:" in text


def test_packed_convolution_reads_without_padding_tests():
    text = show(apply(conv2d(2, 6, 5, 3, 1), conv_over_filters(4, 3)))
    inner = text[text.index("for c in") : text.index("for s0")]
    assert "if" not in inner


def test_accumulator_overwritten_first_is_not_loaded():
    program = apply(matmul(12, 16, 8), packed_matmul(6, 8, 4, 4))
    assert program.buffer("acc").shape == (6, 8)
    assert {"s0", "s1"} <= {loop.var for loop in loops(program.body)}
    assert "acc[z0, z1] = 0.0" in show(program)
