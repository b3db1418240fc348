"""A generated C text as a callable on numpy arrays: compiled once, kept in the user's cache."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.kernel_header import Array, Header, KernelError, Parameter, read_header
from tilewright.preparation import Preparation, Prepared
from tuner.target import target
from workers.fingerprint import look
from workers.toolchain import Compiler, cache_dir, find_compiler

#: seconds that the compiler may take
BUILD_LIMIT_S = 120.0

#: As workers measure: a thread that waits spins for a little, as waking it takes longer than many a
#: kernel, and then sleeps, so that it takes no core from others (decision 11).
WAITING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "10000"}


class Kernel:
    """A compiled kernel. Call it with its inputs, in the program's order or by name.

        y = kernel(x, w)            # outputs are allocated: one array, or a tuple of several
        kernel(x, w, out=y)         # or given
        ready = kernel.prepare(w)   # what depends on constants alone is made here,
        y = ready(x)                # and not in each call

    Arrays are checked, never converted or copied; those of bf16 are uint16, its bits.
    Calls from several threads may overlap.
    """

    def __init__(self, source: str, names: Sequence[str] = ()) -> None:
        #: the C text
        self.source = source
        self.header = read_header(source, names)
        self.inputs = tuple(p for p in self.header.parameters if not p.written)
        self.outputs = tuple(p for p in self.header.parameters if p.written)
        self.constants = tuple(p for p in self.inputs if p.constant)
        path = built(source, self.header)
        if "-fopenmp" in self.header.arguments:
            for name, value in WAITING.items():
                os.environ.setdefault(name, value)
        library = ctypes.CDLL(str(path))
        size = getattr(library, f"{self.header.name}_workspace_bytes")
        size.restype = ctypes.c_size_t
        self._workspace_bytes = int(size())
        self._run = getattr(library, self.header.name)
        self._preparation = Preparation(library, self.header.name)
        self._of_thread = threading.local()

    def __call__(
        self, *arrays: Array, out: Array | Sequence[Array] | None = None, **named: Array
    ) -> Any:
        """The outputs. Raises KernelError where an array is not what the program declares."""
        return self.bind(*arrays, out=out, **named)()

    def prepare(self, *arrays: Array, **named: Array) -> Prepared:
        """The kernel on these constants, in the program's order or by name: a call of what is
        returned takes the other inputs. A call of the kernel itself prepares each time.

        Raises KernelError where one is missing or is not what the program declares.
        """
        given = _given(self, self.constants, arrays, named)
        return Prepared(self, self._preparation, _checked(self, self.constants, given))

    def bind(
        self, *arrays: Array, out: Array | Sequence[Array] | None = None, **named: Array
    ) -> Callable[[], Any]:
        """A call on these arrays, checked now and not again: for what is called many times.

        Every call writes the same outputs. Raises KernelError as a call does.
        """
        return self._bound(_given(self, self.inputs, arrays, named), out, None)

    def bind_prepared(
        self,
        constants: Mapping[str, Array],
        prepared: Array,
        arrays: Sequence[Array],
        named: Mapping[str, Array],
        out: Array | Sequence[Array] | None,
    ) -> Callable[[], Any]:
        """As `bind`, with what was made of the constants; for tilewright.preparation."""
        others = tuple(p for p in self.inputs if not p.constant)
        given = _checked(self, others, _given(self, others, arrays, named))
        return self._bound({**given, **constants}, out, prepared)

    def _bound(
        self,
        given: Mapping[str, Array],
        out: Array | Sequence[Array] | None,
        prepared: Array | None,
    ) -> Callable[[], Any]:
        """A call; without `prepared` each one makes that first."""
        inputs = _checked(self, self.inputs, given)
        outputs = _checked(self, self.outputs, self._results(out))
        every = {**inputs, **outputs}
        _check_apart(outputs, every)
        pointers = [ctypes.c_void_p(every[p.name].ctypes.data) for p in self.header.parameters]
        results = tuple(outputs.values())
        result = results[0] if len(results) == 1 else results
        constants = [inputs[p.name] for p in self.constants]

        def call(_alive: object = every) -> Any:  # the pointers are good while the arrays live
            ahead = self._ahead(prepared, constants)
            if self._run(*pointers, *ahead, self._memory("workspace", self._workspace_bytes)[1]):
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

    def _ahead(
        self, prepared: Array | None, constants: Sequence[Array]
    ) -> tuple[ctypes.c_void_p | None, ...]:
        """What the kernel takes before its workspace: made here where it is not given."""
        if not self._preparation.bytes:
            return ()
        if prepared is not None:
            return (ctypes.c_void_p(prepared.ctypes.data),)
        memory, pointer = self._memory("prepared", self._preparation.bytes)
        self._preparation.fill(memory, constants)
        return (pointer,)

    def _memory(self, use: str, size: int) -> tuple[Array, ctypes.c_void_p | None]:
        """Memory for this thread's calls, kept between them; NULL for no bytes."""
        if not hasattr(self._of_thread, use):
            setattr(self._of_thread, use, np.empty(size, np.uint8))
        memory = getattr(self._of_thread, use)
        return memory, ctypes.c_void_p(memory.ctypes.data) if size else None


def load(source: str) -> Kernel:
    """The kernel in a generated C text, compiled with the command in its header.

    Raises KernelError where the text is none or this machine cannot run it, NoCompiler where there
    is no compiler.
    """
    return Kernel(source)


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


def _given(
    kernel: Kernel,
    parameters: Sequence[Parameter],
    arrays: Sequence[Array],
    named: Mapping[str, Array],
) -> dict[str, Array]:
    """Arrays by name: those given by position, then those given by name."""
    given = dict(zip((p.name for p in parameters), arrays, strict=False)) | dict(named)
    if len(arrays) > len(parameters) or len(given) != len(arrays) + len(named):
        raise KernelError(f"{kernel}: an input is given twice, or there are too many")
    return given


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
