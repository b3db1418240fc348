"""The names of the program language, so that a program's text is importable Python.

The service reads the text and never runs it; here a signature evaluates to plain descriptions
and a body, if called, says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NoReturn

from tuner.dtypes import DTYPES, DType
from tuner.errors import TilewrightError


@dataclass(frozen=True, slots=True)
class BufferType:
    """`f32[512, 768]`: an element type with a shape; constant where the caller never changes it."""

    dtype: DType
    shape: tuple[int, ...]
    constant: bool = False


@dataclass(frozen=True, slots=True)
class ElementType:
    """`f32`: subscripting it gives a buffer's type, calling it is a cast in program text."""

    dtype: DType

    def __getitem__(self, shape: int | tuple[int, ...]) -> BufferType:
        return BufferType(self.dtype, shape if isinstance(shape, tuple) else (shape,))

    def __call__(self, *arguments: Any) -> NoReturn:
        _never_run(self.dtype.name)


@dataclass(frozen=True, slots=True)
class ConstantType:
    """`const[f32[768]]`: a buffer that stays the same over calls, such as weights."""

    def __getitem__(self, buffer_type: BufferType) -> BufferType:
        return BufferType(buffer_type.dtype, buffer_type.shape, constant=True)


@dataclass(frozen=True, slots=True)
class Word:
    """A function of the language: `grid`, `exp`, `clamp`. Only its name matters."""

    name: str

    def __call__(self, *arguments: Any) -> NoReturn:
        _never_run(self.name)


def _never_run(name: str) -> NoReturn:
    raise TilewrightError(
        f"{name}(…): a program's body is read as text and never run: "
        "submit its file with `tilewright tune --program FILE`"
    )


f64, f32, f16, bf16 = (ElementType(DTYPES[name]) for name in ("f64", "f32", "f16", "bf16"))
i64, i32, i16, i8 = (ElementType(DTYPES[name]) for name in ("i64", "i32", "i16", "i8"))
u8 = ElementType(DTYPES["u8"])
const = ConstantType()
inf = math.inf

buffer, grid, bound = Word("buffer"), Word("grid"), Word("bound")
unrolled, vectorized, parallel = Word("unrolled"), Word("vectorized"), Word("parallel")
exp, log, sqrt, rsqrt = Word("exp"), Word("log"), Word("sqrt"), Word("rsqrt")
tanh, erf, sigmoid = Word("tanh"), Word("erf"), Word("sigmoid")
sin, cos, floor, ceil = Word("sin"), Word("cos"), Word("floor"), Word("ceil")
select, clamp = Word("select"), Word("clamp")
