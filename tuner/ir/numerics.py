"""The meaning of each operator on numpy values: one rounding, in the operands' type.

Values are numpy arrays or scalars of the operator's dtype; loop variables and subscripts may be
Python integers, which never leave 64 bits (tuner.ir.verify sees to that). Those of bf16 are f32
that bf16 can hold.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tuner.dtypes import BF16, BOOL, DType, bf16_bits, bf16_values
from tuner.ir.ops import FLOAT_IDENTITY

#: A numpy array or scalar, or a Python integer; numpy's own types say no more that is of use.
Value = Any

_EXACT: dict[str, Callable[..., Value]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "neg": operator.neg,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "eq": operator.eq, "ne": operator.ne,
    "and": operator.and_, "or": operator.or_, "not": np.logical_not,
    "min": np.minimum, "max": np.maximum, "abs": np.abs, "sqrt": np.sqrt,
}  # fmt: skip

_erf = np.frompyfunc(math.erf, 1, 1)

#: Computed in f64 and rounded once to the operand's type.
_ROUNDED: dict[str, Callable[..., Value]] = {
    "exp": np.exp, "log": np.log, "tanh": np.tanh, "sin": np.sin, "cos": np.cos,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "erf": lambda x: np.asarray(_erf(x), np.float64)[()],
    "pow": np.power,
}  # fmt: skip

_INTEGRAL: dict[str, Callable[..., Value]] = {
    "floor": np.floor, "ceil": np.ceil, "round": np.rint,
}  # fmt: skip

UFUNCS: dict[str, np.ufunc] = {
    "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


def apply(op: str, args: tuple[Value, ...], dtype: DType) -> Value:
    """`op` of operands that are all of one type; `dtype` is the result's."""
    if op in _EXACT:
        return _EXACT[op](*args)
    if op in _INTEGRAL:
        return _INTEGRAL[op](*args) if dtype.is_float else args[0]
    wide = (np.asarray(a, np.float64)[()] for a in args)
    return np.asarray(_ROUNDED[op](*wide)).astype(dtype.numpy)[()]


def accumulate(op: str, values: Value, axis: int | tuple[int, ...], keep: bool = False) -> Value:
    """`values` reduced along `axis` in their own type."""
    ufunc, dtype = UFUNCS[op], values.dtype
    for one in sorted(axis if isinstance(axis, tuple) else (axis,)):
        values = ufunc.reduce(values, axis=one, keepdims=True, dtype=_same(ufunc, dtype))
    return values if keep else np.squeeze(values, axis)


def _same(ufunc: np.ufunc, dtype: np.dtype) -> np.dtype | None:
    """numpy widens small integers in sums and products unless told."""
    return dtype if ufunc in (np.add, np.multiply) else None


def identity(op: str, dtype: DType) -> Value:
    """The value that changes nothing when reduced with."""
    if dtype.is_float:
        return dtype.numpy.type(FLOAT_IDENTITY[op])
    limits = np.iinfo(dtype.numpy)
    return dtype.numpy.type({"add": 0, "mul": 1, "min": limits.max, "max": limits.min}[op])


def cast(value: Value, source: DType, dtype: DType) -> Value:
    """A conversion: floats to integers truncate and saturate, NaN gives 0; integers wrap."""
    array = np.asarray(value, source.held)
    if dtype == BF16:
        return bf16_values(bf16_bits(array.astype(np.float32)))[()]
    if not (source.is_float and dtype.is_integer):
        return array.astype(dtype.numpy)[()]
    limits = np.iinfo(dtype.numpy)
    wide = np.nan_to_num(array.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
    inside = (wide > float(limits.min)) & (wide < float(limits.max))
    whole = np.where(inside, wide, 0.0).astype(dtype.numpy)
    ends = np.where(wide > 0, limits.max, limits.min).astype(dtype.numpy)
    return np.where(inside, whole, ends)[()]


def poison(shape: tuple[int, ...], dtype: DType) -> np.ndarray:
    """An array whose content shows when it is read before it is written."""
    if dtype.is_float:
        return np.full(shape, np.nan, dtype.held)
    if dtype == BOOL:
        return np.ones(shape, dtype.numpy)
    return np.full(shape, int.from_bytes(b"\x7f" * dtype.bytes, "little"), dtype.numpy)
