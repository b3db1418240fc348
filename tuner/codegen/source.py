"""What code generation hands on: one kernel's text and all that is needed to build and call it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tuner.ir.nodes import Buffer


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel of a source that is run by launching it."""

    name: str
    #: names of the buffers that it is called with, in this order
    arguments: tuple[str, ...]
    #: blocks, and threads in each of them, along x, y and z
    grid: tuple[int, int, int]
    block: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Source:
    """A self-contained translation unit with one kernel,
    `int NAME(const float *x, …, float *y, void *workspace)`. What depends on constant parameters
    alone is done ahead, by `int NAME_prepare(const float *w, …, void *prepared)` with all of those;
    where there is such a function, NAME has `const void *prepared` before `workspace`.

    It returns 0, or 1 where it needs a workspace and was given none. File-level names all begin
    with `name`, so that texts can be put together into one translation unit.
    """

    name: str
    text: str
    #: in call order, with the shapes of the program as written
    params: tuple[Buffer, ...]
    #: names of the parameters that the kernel writes, in call order
    outputs: tuple[str, ...]
    #: bytes that `workspace` must have; what NAME_workspace_bytes() returns
    workspace_bytes: int
    #: that share its parallel loops
    threads: int
    #: compiler flags before the file name
    flags: tuple[str, ...]
    #: linker flags after the file name
    libs: tuple[str, ...]
    #: the language of the text, "c" or "opencl"
    language: str = "c"
    #: for all but C: what is launched, in this order, each when the one before has ended
    kernels: tuple[Kernel, ...] = ()
    #: likewise: buffers that the caller provides for the kernels to share
    scratch: tuple[Buffer, ...] = ()
    #: bytes that `prepared` must have; what NAME_prepared_bytes() returns, 0 where there is none
    prepared_bytes: int = 0

    @property
    def sha256(self) -> str:
        """Hex digest of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def command(self) -> str:
        """The command that makes a shared object of NAME.c; also in the text's header. C only."""
        return build_command(self.name, self.flags, self.libs)


def build_command(name: str, flags: tuple[str, ...], libs: tuple[str, ...]) -> str:
    """The shell command that builds `name`.c."""
    return " ".join(("gcc", *flags, "-o", f"{name}.so", f"{name}.c", *libs))
