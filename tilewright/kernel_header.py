"""What a generated C text says of itself, and which arrays its kernel takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.dtypes import BF16, DTYPES, DType
from tuner.errors import TilewrightError

Array = NDArray[Any]

_HEADER = re.compile(
    r"/\* (?P<name>tw_\w+)\n \* workload \S+, target (?P<target>\S+), generator \S+\n"
    r" \* parameters:\n(?P<parameters>(?: \*     \w+: [^\n]*\n)+)"
    r".*?^ \* build:\n \*     gcc (?P<arguments>[^\n]*)\n",
    re.DOTALL | re.MULTILINE,
)
_PARAMETER = re.compile(r" \*     (\w+): (\w+)\[([\d, ]+)\](?:, (written|constant))?")


class KernelError(TilewrightError):
    """A text that is no kernel, a machine that cannot run it, or arrays that it does not take."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One array that a kernel takes."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    #: does the kernel write it? Then it is an output.
    written: bool
    #: does it stay the same over calls? Then what depends on it alone may be made ahead.
    constant: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"

    def check(self, array: object) -> Array:
        """`array`, if the kernel can take it. Raises KernelError with what to do about it."""
        if not isinstance(array, np.ndarray):
            raise KernelError(f"{self}: expected a numpy array, found {type(array).__name__}")
        if array.dtype != self.dtype.numpy:
            to = (
                "tilewright.bf16_bits(…)"
                if self.dtype == BF16
                else f".astype('{self.dtype.numpy}')"
            )
            raise KernelError(f"{self}: found dtype {array.dtype}; convert it: {to}")
        if array.shape != self.shape:
            raise KernelError(f"{self}: found shape {array.shape}; a kernel's shapes are fixed")
        if not (array.flags.c_contiguous and array.flags.aligned):
            raise KernelError(
                f"{self}: not contiguous in C order, or not aligned; use np.ascontiguousarray(…)"
            )
        if self.written and not array.flags.writeable:
            raise KernelError(f"{self}: the array is read-only; an output is written")
        return array


@dataclass(frozen=True, slots=True)
class Header:
    """What a kernel's text says of itself."""

    name: str
    target: str
    #: of the compiler, the names of the files among them
    arguments: tuple[str, ...]
    parameters: tuple[Parameter, ...]


def read_header(source: str, names: Sequence[str] = ()) -> Header:
    """What the comment at the head of `source` says; `names` for its parameters, else their own.

    Raises KernelError where the text is no C kernel of Tilewright's.
    """
    found = _HEADER.match(source)
    if found is None:
        raise KernelError(
            "this text is no C kernel of Tilewright's: a header with its parameters and the "
            "command that builds it is missing"
        )
    lines = found["parameters"].splitlines()
    own = [_parameter(line) for line in lines]
    if names and len(names) != len(own):
        raise KernelError(f"the kernel has {len(own)} parameters, the program {len(names)}")
    parameters = tuple(
        replace(p, name=name) for name, p in zip(names or [p.name for p in own], own, strict=True)
    )
    arguments = tuple(shlex.split(found["arguments"]))
    return Header(found["name"], found["target"], arguments, parameters)


def _parameter(line: str) -> Parameter:
    found = _PARAMETER.fullmatch(line)
    if found is None or found[2] not in DTYPES:
        raise KernelError(f"the kernel's header has no parameter in {line!r}")
    shape = tuple(int(size) for size in found[3].split(","))
    written, constant = (found[4] == word for word in ("written", "constant"))
    return Parameter(found[1], DTYPES[found[2]], shape, written, constant)
