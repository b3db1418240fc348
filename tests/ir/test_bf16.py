"""bf16: arrays of its bits outside, values in f32 inside, one rounding to the nearest at a cast."""

from __future__ import annotations

import numpy as np
import pytest

from tuner.dtypes import bf16_bits, bf16_values
from tuner.frontends.text import parse
from tuner.ir.interp import run
from tuner.ir.show import show

ONE = 0x3F80


@pytest.mark.parametrize(("value", "bits"), [
    (1.0, ONE), (-2.0, 0xC000), (0.0, 0), (np.inf, 0x7F80), (-np.inf, 0xFF80),
    (1 + 2**-8, ONE), (1 + 3 * 2**-8, ONE + 2), (1 + 2**-8 + 2**-20, ONE + 1),
    (3.4e38, 0x7F80), (1e-40, 1), (2.0**-134, 0), (2.0**-134 * 1.01, 1),
])  # fmt: skip
def test_rounding_is_to_the_nearest_and_ties_to_even(value: float, bits: int) -> None:
    assert bf16_bits(np.float32(value)) == bits


def test_bits_and_values_are_inverse_and_nan_stays_nan() -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    back = bf16_bits(bf16_values(bits))
    numbers = ~np.isnan(bf16_values(bits))
    np.testing.assert_array_equal(back[numbers], bits[numbers])
    assert np.isnan(bf16_values(back[~numbers])).all()
    assert np.isnan(
        bf16_values(bf16_bits(np.array([0x7F800001], np.uint32).view(np.float32)))
    ).all()


def test_arrays_outside_are_bits_and_stores_round() -> None:
    text = (
        "def f(x: bf16[3], y: bf16[3], z: f32[3]):\n    t = buffer(bf16[3])\n"
        "    for i in range(3):\n        t[i] = f32(x[i]) * 1.01\n"
        "        y[i] = t[i] if f32(x[i]) > 0 else x[i]\n        z[i] = f32(t[i])\n"
    )
    x = np.array([1.0, -3.0, 260.0], np.float32)
    found = run(parse(text), {"x": bf16_bits(x)})
    rounded = bf16_values(bf16_bits(x * np.float32(1.01)))
    assert found["y"].dtype == np.uint16
    np.testing.assert_array_equal(found["z"], rounded)
    np.testing.assert_array_equal(bf16_values(found["y"]), np.where(x > 0, rounded, x))


def test_an_input_of_values_is_refused() -> None:
    program = parse("def f(x: bf16[3], y: bf16[3]):\n    for i in range(3): y[i] = x[i]\n")
    with pytest.raises(ValueError, match="expected bf16"):
        run(program, {"x": np.zeros(3, np.float32)})


def test_a_literal_is_what_the_type_holds() -> None:
    text = "def f(x: bf16[3], y: bf16[3]):\n    for i in range(3): y[i] = x[i] if i < 2 else 0.1\n"
    program = parse(text)
    assert "0.10009765625" in show(program)
    assert parse(show(program)) == program
