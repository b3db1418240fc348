"""A generated C text as a callable on numpy arrays: compiled once, kept in the user's cache."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.dtypes import BF16, DTYPES, DType
from tuner.errors import TilewrightError
from tuner.target import target
from workers.fingerprint import look
from workers.toolchain import Compiler, cache_dir, find_compiler

Array = NDArray[Any]

#: seconds that the compiler may take
BUILD_LIMIT_S = 120.0
#: As workers measure: a thread that waits spins for a little, as waking it takes longer than many a
#: kernel, and then sleeps, so that it takes no core from others (decision 11).
WAITING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "10000"}
_HEADER = re.compile(
    r"/\* (?P<name>tw_\w+)\n \* workload \S+, target (?P<target>\S+), generator \S+\n"
    r" \* parameters:\n(?P<parameters>(?: \*     \w+: [^\n]*\n)+)"
    r".*?^ \* build:\n \*     gcc (?P<arguments>[^\n]*)\n",
    re.DOTALL | re.MULTILINE,
)
_PARAMETER = re.compile(r" \*     (\w+): (\w+)\[([\d, ]+)\](, written)?")


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


class Kernel:
    """A compiled kernel. Call it with its inputs, in the program's order or by name.

        y = kernel(x, w)            # outputs are allocated: one array, or a tuple of several
        kernel(x, w, out=y)         # or given

    Arrays are checked, never converted or copied; those of bf16 are uint16, its bits.
    Calls from several threads may overlap.
    """

    def __init__(self, source: str, names: Sequence[str] = ()) -> None:
        #: the C text
        self.source = source
        self.header = read_header(source, names)
        self.inputs = tuple(p for p in self.header.parameters if not p.written)
        self.outputs = tuple(p for p in self.header.parameters if p.written)
        path = built(source, self.header)
        if "-fopenmp" in self.header.arguments:
            for name, value in WAITING.items():
                os.environ.setdefault(name, value)
        library = ctypes.CDLL(str(path))
        size = getattr(library, f"{self.header.name}_workspace_bytes")
        size.restype = ctypes.c_size_t
        self._workspace_bytes = int(size())
        self._run = getattr(library, self.header.name)
        self._of_thread = threading.local()

    def __call__(
        self, *arrays: Array, out: Array | Sequence[Array] | None = None, **named: Array
    ) -> Any:
        """The outputs. Raises KernelError where an array is not what the program declares."""
        return self.bind(*arrays, out=out, **named)()

    def bind(
        self, *arrays: Array, out: Array | Sequence[Array] | None = None, **named: Array
    ) -> Callable[[], Any]:
        """A call on these arrays, checked now and not again: for what is called many times.

        Every call writes the same outputs. Raises KernelError as a call does.
        """
        given = dict(zip((p.name for p in self.inputs), arrays, strict=False)) | named
        if len(arrays) > len(self.inputs) or len(given) != len(arrays) + len(named):
            raise KernelError(f"{self}: an input is given twice, or there are too many")
        inputs = _checked(self, self.inputs, given)
        outputs = _checked(self, self.outputs, self._results(out))
        every = {**inputs, **outputs}
        _check_apart(outputs, every)
        pointers = [ctypes.c_void_p(every[p.name].ctypes.data) for p in self.header.parameters]
        results = tuple(outputs.values())
        result = results[0] if len(results) == 1 else results

        def call(_alive: object = every) -> Any:  # the pointers are good while the arrays live
            if self._run(*pointers, self._workspace()):
                raise MemoryError(f"{self}: no memory")
            return result

        return call

    def __repr__(self) -> str:
        """The kernel as a signature."""
        inputs, outputs = (
            ", ".join(map(str, parameters)) for parameters in (self.inputs, self.outputs)
        )
        return f"{self.header.name}({inputs}) -> {outputs}"

    def _results(self, out: Array | Sequence[Array] | None) -> dict[str, Array]:
        """Output arrays by name: those given, or new ones."""
        if out is None:
            return {p.name: np.zeros(p.shape, p.dtype.numpy) for p in self.outputs}
        given = (out,) if isinstance(out, np.ndarray) else tuple(out)
        if len(given) != len(self.outputs):
            raise KernelError(f"{self}: out= needs {len(self.outputs)} arrays, found {len(given)}")
        return {p.name: array for p, array in zip(self.outputs, given, strict=True)}

    def _workspace(self) -> ctypes.c_void_p | None:
        """Memory for this thread's calls, kept between them."""
        if not self._workspace_bytes:
            return None
        if not hasattr(self._of_thread, "space"):
            self._of_thread.space = np.empty(self._workspace_bytes, np.uint8)
        return ctypes.c_void_p(self._of_thread.space.ctypes.data)


def load(source: str) -> Kernel:
    """The kernel in a generated C text, compiled with the command in its header.

    Raises KernelError where the text is none or this machine cannot run it, NoCompiler where there
    is no compiler.
    """
    return Kernel(source)


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
        Parameter(name, p.dtype, p.shape, p.written)
        for name, p in zip(names or [p.name for p in own], own, strict=True)
    )
    arguments = tuple(shlex.split(found["arguments"]))
    return Header(found["name"], found["target"], arguments, parameters)


def _parameter(line: str) -> Parameter:
    found = _PARAMETER.fullmatch(line)
    if found is None or found[2] not in DTYPES:
        raise KernelError(f"the kernel's header has no parameter in {line!r}")
    shape = tuple(int(size) for size in found[3].split(","))
    return Parameter(found[1], DTYPES[found[2]], shape, bool(found[4]))


def built(source: str, header: Header) -> Path:
    """The shared object made of `source`, from the cache if it was made before.

    Raises KernelError where this machine cannot run it or the compiler refuses it.
    """
    compiler = find_compiler()
    _check_machine(header, compiler)
    key = f"{compiler.path}\n{compiler.version}\n{source}"
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    folder = cache_dir() / "kernels"
    path = folder / f"{header.name}-{digest}.so"
    if path.exists():
        return path
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        made_in = Path(name)
        (made_in / f"{header.name}.c").write_text(source, "utf-8")
        _compile(compiler, header, made_in)
        (made_in / f"{header.name}.so").replace(path)  # atomic: others may be doing the same
    return path


def _compile(compiler: Compiler, header: Header, folder: Path) -> None:
    try:
        done = subprocess.run(
            [compiler.path, *header.arguments],
            cwd=folder, capture_output=True, text=True, check=False, timeout=BUILD_LIMIT_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise KernelError(
            f"{compiler.version} did not compile {header.name} within {BUILD_LIMIT_S:g} s"
        ) from None
    if done.returncode:
        raise KernelError(
            f"{compiler.version} does not compile {header.name}:\n{done.stderr[-2000:]}"
        )


def _check_machine(header: Header, compiler: Compiler) -> None:
    """Raises KernelError where the CPU lacks what the target has: running it would be fatal."""
    hardware = target(header.target)
    if hardware.kind != "cpu":
        raise KernelError(f"a kernel for {hardware.name} runs on no CPU; only C can be loaded")
    missing = set(hardware.isa) - set(look(compiler).facts["isa"])
    if missing:
        raise KernelError(
            f"this CPU lacks {', '.join(sorted(missing))}, which {hardware.name} has: tune for a "
            "target of this machine"
        )


def _check_apart(outputs: Mapping[str, Array], every: Mapping[str, Array]) -> None:
    """Raises KernelError where an output overlaps with another array."""
    for name, result in outputs.items():
        for other, array in every.items():
            if other != name and np.may_share_memory(result, array):
                raise KernelError(f"{name} overlaps with {other}: an output has memory of its own")


def _checked(
    kernel: Kernel, parameters: Sequence[Parameter], given: Mapping[str, Array]
) -> dict[str, Array]:
    """The given arrays in the order of `parameters`, each checked."""
    names = [p.name for p in parameters]
    if unknown := [name for name in given if name not in names]:
        raise KernelError(f"{kernel} takes no {', '.join(unknown)}")
    if missing := [name for name in names if name not in given]:
        raise KernelError(f"{kernel} misses {', '.join(missing)}")
    return {p.name: p.check(given[p.name]) for p in parameters}
