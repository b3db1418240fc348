"""Literals of the C family."""

from __future__ import annotations

import math

import numpy as np

from tuner.codegen.dialect import Dialect
from tuner.dtypes import BF16, bf16_bits
from tuner.ir.nodes import Const


def literal(const: Const, dialect: Dialect) -> str:
    """`const` as text that reads back as the same value; negative ones start with a minus."""
    dtype = const.dtype
    if not dtype.is_float:
        return _integer(int(const.value), dtype.bits)
    value = float(const.value)
    if dtype == BF16:
        return str(int(bf16_bits(value)))
    suffix = dialect.literal[dtype.name]
    if math.isnan(value):
        return f"({dialect.type(dtype)}){dialect.nan}"
    if math.isinf(value):
        sign = "-" if value < 0 else ""
        return f"{sign}({dialect.type(dtype)}){dialect.infinity}"
    rounded = value if dtype.bits == 64 else dtype.numpy.type(value)
    digits = np.format_float_scientific(rounded, trim="0") if _long(value) else repr(float(rounded))
    if dtype.bits < 64 and not _long(value):
        digits = np.format_float_positional(rounded, trim="0")
    return f"{digits}{suffix}"


def _long(value: float) -> bool:
    return value != 0 and not 1e-4 <= abs(value) < 1e9


def _integer(value: int, bits: int) -> str:
    if value == -(1 << 63):
        return "(-9223372036854775807 - 1)"
    if value == -(1 << 31) and bits <= 32:
        return "(-2147483647 - 1)"
    return str(value)
