"""Compiles translated programs, loads them and calls them on numpy arrays."""

from __future__ import annotations

import ctypes
import hashlib
import platform
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from tests.conftest import require
from tuner.codegen.c import Translation, translate
from tuner.dtypes import BF16, bf16_bits, bf16_values
from tuner.frontends.text import parse
from tuner.ir.nodes import Buffer, Program
from tuner.ir.visit import outputs
from tuner.lower.pipeline import lower
from tuner.target import TARGETS, Target

FLAGS = "-O2 -Wall -Wextra -Werror -fno-math-errno -fno-trapping-math -fPIC -shared -nostdlib"
#: Names of a clang that knows _Float16 on x86, which clang 14 (Debian 12's plain `clang`) does not.
CLANG = ("clang-19", "clang-16", "clang")


def c_compiler() -> str:
    """gcc, or clang where there is none; without either the test is skipped (fails in CI)."""
    return require("gcc", *CLANG)


@cache
def targets_here() -> tuple[Target, ...]:
    """The CPU targets whose instructions this machine has."""
    if platform.machine() != "x86_64":
        return tuple(t for t in TARGETS.values() if "neon" in t.name)
    line = next(x for x in Path("/proc/cpuinfo").read_text().splitlines() if x.startswith("flags"))
    features = set(line.split())
    return tuple(t for t in TARGETS.values() if t.kind == "cpu" and set(t.isa) <= features)


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="tw-native-"))


def load(code: Translation, flags: tuple[str, ...] = (), compiler: str = "") -> ctypes.CDLL:
    """Builds `code` without a warning and loads it."""
    command = [compiler or c_compiler(), *FLAGS.split(), *flags]
    key = hashlib.sha256(f"{command}\n{code.text}".encode()).hexdigest()[:24]
    source, built = _folder() / f"{key}.c", _folder() / f"{key}.so"
    if not built.exists():
        source.write_text(code.text)
        done = subprocess.run(
            [*command, "-o", built, source, *code.libs], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr + code.text
    return ctypes.CDLL(str(built))


def call(
    library: ctypes.CDLL, name: str, program: Program, inputs: Mapping[str, np.ndarray],
    shift: int = 0,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Runs the kernel on copies of `inputs` that lie `shift` elements past an aligned address;
    outputs are poisoned first."""
    arrays = {}
    for buffer in program.params:
        space = np.full(buffer.bytes + 128, 0xFF, np.uint8)
        start = -space.ctypes.data % 64 + shift * buffer.dtype.bytes
        array = space[start : start + buffer.bytes].view(buffer.dtype.numpy).reshape(buffer.shape)
        if buffer.name in inputs:
            array[...] = inputs[buffer.name]
        arrays[buffer.name] = array
    size = getattr(library, f"{name}_workspace_bytes")
    size.restype = ctypes.c_size_t
    workspace = ctypes.create_string_buffer(b"\xff" * size(), size()) if size() else None
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays.values()]
    ahead = prepared(library, name, [arrays[b.name] for b in program.params if b.const])
    assert getattr(library, name)(*pointers, *ahead, workspace) == 0
    return {n: arrays[n] for n in outputs(program)}


def prepared(
    library: ctypes.CDLL, name: str, constants: list[np.ndarray]
) -> tuple[ctypes.Array[ctypes.c_char], ...]:
    """What the kernel makes of its constants ahead, as one more argument; none for most kernels."""
    if not hasattr(library, f"{name}_prepare"):
        return ()
    size = getattr(library, f"{name}_prepared_bytes")
    size.restype = ctypes.c_size_t
    memory = ctypes.create_string_buffer(b"\xff" * size(), size())
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in constants]
    assert getattr(library, f"{name}_prepare")(*pointers, memory) == 0
    return (memory,)


def run(
    text: str, inputs: Mapping[str, np.ndarray], target: Target, shift: int = 0, compiler: str = ""
) -> dict[str, np.ndarray]:
    """The outputs of the program `text`, scheduled as it is written, on `target`."""
    program = parse(text)
    code = translate(lower(program, target), "tw_test", isa=target.isa)
    library = load(code, target.flags, compiler)
    return call(library, "tw_test", program, inputs, shift)


def inputs_for(program: Program, seed: int = 0) -> dict[str, np.ndarray]:
    """Random inputs: normals, or small integers."""
    rng = np.random.default_rng(seed)
    written = set(outputs(program))
    arrays = {}
    for buffer in program.params:
        if buffer.name in written:
            continue
        if buffer.dtype.is_float:
            array = rng.standard_normal(buffer.shape)
        else:
            array = rng.integers(0, 2 if buffer.dtype.kind == "bool" else 100, buffer.shape)
        array = bf16_bits(array) if buffer.dtype == BF16 else array
        arrays[buffer.name] = array.astype(buffer.dtype.numpy)
    return arrays


def values(array: np.ndarray, buffer: Buffer) -> np.ndarray:
    """The numbers that `array` holds for `buffer`."""
    return bf16_values(array) if buffer.dtype == BF16 else array
