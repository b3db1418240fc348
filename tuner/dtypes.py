"""Element types and their promotion (numpy's rules, without value-based casting).

bf16 is a type to store in: buffers hold it, casts and selections move it, and all arithmetic is
done after a cast. numpy has no such type. Outside of the interpreter (inputs, outputs, files, the
kernel's arguments) an array of bf16 is one of uint16, its bits: the upper half of the f32 of the
same value. Conversions to it go through f32, to the nearest value, ties to even.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class DType:
    """One element type; instances below are the only ones."""

    name: str
    #: "float", "int", "uint" or "bool"
    kind: str
    bits: int

    @property
    def bytes(self) -> int:
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def numpy(self) -> np.dtype:
        """The numpy type of its arrays; of bf16, that of its bits."""
        if self.name == "bf16":
            return np.dtype("uint16")
        names = {"float": f"float{self.bits}", "int": f"int{self.bits}", "uint": f"uint{self.bits}"}
        return np.dtype(names.get(self.kind, "bool"))

    @property
    def held(self) -> np.dtype:
        """The numpy type that can hold its values: `numpy`, but f32 for bf16."""
        return np.dtype("float32") if self.name == "bf16" else self.numpy

    @property
    def unit_roundoff(self) -> float:
        """u of Higham's standard model: half the spacing of 1.0. Zero for exact types."""
        mantissa = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}.get(self.name)
        return 2.0**-mantissa if mantissa else 0.0

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number that has all its digits: results below it are off by up to
        `unit_roundoff` times it. Zero for exact types."""
        exponent = {"f64": 1022, "f32": 126, "f16": 14, "bf16": 126}.get(self.name)
        return 2.0**-exponent if exponent else 0.0

    def __str__(self) -> str:
        return self.name


F64 = DType("f64", "float", 64)
F32 = DType("f32", "float", 32)
F16 = DType("f16", "float", 16)
BF16 = DType("bf16", "float", 16)
I64 = DType("i64", "int", 64)
I32 = DType("i32", "int", 32)
I16 = DType("i16", "int", 16)
I8 = DType("i8", "int", 8)
U8 = DType("u8", "uint", 8)
BOOL = DType("bool", "bool", 1)

DTYPES: dict[str, DType] = {d.name: d for d in (F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL)}
#: The type of loop variables and subscripts.
INDEX = I64


@cache
def promote(a: DType, b: DType) -> DType:
    """The type in which an operation on `a` and `b` is done."""
    if a == b:
        return a
    if BF16 in (a, b):
        other = b if a == BF16 else a
        return other if other.is_float and other.bits > 16 else F32 if other == F16 else BF16
    by_numpy = {d.numpy: d for d in DTYPES.values() if d != BF16}
    return by_numpy[np.promote_types(a.numpy, b.numpy)]


def bf16_bits(values: ArrayLike) -> np.ndarray:
    """The bits, uint16, of the bf16 nearest to each value; NaN stays NaN."""
    narrow = np.asarray(values, np.float32)
    bits = narrow.view(np.uint32)
    nearest = (bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(narrow), bits >> 16 | 64, nearest).astype(np.uint16)


def bf16_values(bits: np.ndarray) -> np.ndarray:
    """The values, f32, of bf16 given by their bits."""
    return (np.asarray(bits, np.uint32) << 16).view(np.float32)
