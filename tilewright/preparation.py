"""What a kernel makes of its constants alone, once, ahead of its calls."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Preparation:
    """The function `NAME_prepare` of a library, if it has one."""

    def __init__(self, library: ctypes.CDLL, name: str) -> None:
        self._run = getattr(library, f"{name}_prepare", None)
        #: that it fills; 0 where the kernel makes nothing ahead
        self.bytes = 0
        if self._run is not None:
            size = getattr(library, f"{name}_prepared_bytes")
            size.restype = ctypes.c_size_t
            self.bytes = int(size())

    def fill(self, memory: Array, constants: Sequence[Array]) -> None:
        """Makes it of all constants, in the kernel's order. Raises MemoryError."""
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*constants, memory)]
        if self._run is not None and self._run(*pointers):
            raise MemoryError("no memory to prepare a kernel's constants")

    def filled(self, constants: Sequence[Array]) -> Array:
        """New memory with it."""
        memory = np.empty(self.bytes, np.uint8)
        self.fill(memory, constants)
        return memory


class _Bindable(Protocol):
    """A kernel as `Prepared` needs it."""

    def bind_prepared(
        self,
        constants: Mapping[str, Array],
        prepared: Array,
        arrays: Sequence[Array],
        named: Mapping[str, Array],
        out: Array | Sequence[Array] | None,
    ) -> Callable[[], Any]: ...


class Prepared:
    """A kernel on given constants: call it with the other inputs.

    The constants' arrays are kept, and must not be changed any more.
    """

    def __init__(
        self, kernel: _Bindable, preparation: Preparation, constants: Mapping[str, Array]
    ) -> None:
        self._kernel, self._constants = kernel, dict(constants)
        self._memory = preparation.filled(list(constants.values()))

    @property
    def bytes(self) -> int:
        """That were made of the constants ahead; 0 where the kernel reads them as they are."""
        return self._memory.nbytes

    def __call__(
        self, *arrays: Array, out: Array | Sequence[Array] | None = None, **named: Array
    ) -> Any:
        """The outputs, as by calling the kernel. Raises KernelError."""
        return self.bind(*arrays, out=out, **named)()

    def bind(
        self, *arrays: Array, out: Array | Sequence[Array] | None = None, **named: Array
    ) -> Callable[[], Any]:
        """A call on these arrays, as by the kernel's own `bind`. Raises KernelError."""
        return self._kernel.bind_prepared(self._constants, self._memory, arrays, named, out)

    def __repr__(self) -> str:
        """The kernel, and what is fixed."""
        return f"{self._kernel!r} with {', '.join(self._constants) or 'no constants'} prepared"
