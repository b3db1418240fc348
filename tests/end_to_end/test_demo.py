"""The demo, with a small budget; what it leaves compiles cleanly by hand and equals numpy."""

import ctypes
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.codegen.native import prepared
from tests.conftest import require
from tilewright.demo import FOLDER

Array = NDArray[np.float32]
Shape = tuple[int, ...]


def _dense_relu(x: Array, w: Array, b: Array) -> Array:
    return np.maximum(x @ w + b, np.float32(0))


def _conv2d(x: Array, w: Array) -> Array:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.einsum("nchwij,fcij->nfhw", windows, w, optimize=True)


def _softmax(x: Array) -> Array:
    exps = np.exp(x - x.max(axis=1, keepdims=True))
    return exps / exps.sum(axis=1, keepdims=True)


CASES: dict[str, tuple[tuple[Shape, ...], Callable[..., Array]]] = {
    "matmul": (((512, 512), (512, 512)), np.matmul),
    "dense_relu": (((512, 768), (768, 3072), (3072,)), _dense_relu),
    "conv2d": (((1, 64, 56, 56), (64, 64, 3, 3)), _conv2d),
    "softmax": (((512, 1024),), _softmax),
}


@dataclass(frozen=True, slots=True)
class Demo:
    """A demo that has ended."""

    output: str
    folder: Path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo as `make demo` runs it, but for its budget."""
    require("gcc")
    folder = tmp_path_factory.mktemp("demo")
    script = (
        "import sys\nfrom tilewright import demo\n"
        "demo.BUDGET = {'trials': 64, 'seconds': 240}\nsys.exit(demo.main())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return Demo(ran.stdout, folder / FOLDER)


def test_it_says_how_fast_and_where_to_read(demo: Demo) -> None:
    paragraphs = {text.split()[0]: text for text in demo.output.split("\n\n") if text.strip()}
    for name in CASES:
        text = paragraphs[name]
        assert re.search(r"median [0-9.]+ .s \(95%: .*\), [0-9.]+ G(FLOP|B)/s, \d+% of peak", text)
        assert re.search(r"\d+ trials, \d+ failed", text)
        assert f"read {FOLDER / name}.schedule.txt and {FOLDER / name}.c" in text
    assert re.search(r"[0-9.]+ GFLOP/s \(f32 FMA\), [0-9.]+ GB/s \(copy\)", demo.output)


def test_it_leaves_the_program_after_each_step(demo: Demo) -> None:
    for name in CASES:
        text = (demo.folder / f"{name}.schedule.txt").read_text()
        assert "# as written\ndef program(" in text
        assert text.count("\ndef program(") > 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_stops_all_that_it_started(number: signal.Signals, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "tilewright.demo"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith("server, tuner and worker run at "), first
        process.send_signal(number)
        assert "is stopped" in process.stdout.read()
        assert process.wait(60) == 130
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", int(first.split()[6].rstrip(",").split(":")[2])))


@pytest.mark.parametrize("name", CASES)
def test_served_c_compiles_without_a_warning_and_equals_numpy(
    name: str, demo: Demo, tmp_path: Path
) -> None:
    text = (demo.folder / f"{name}.c").read_text()
    kernel, library = _build(text, tmp_path)
    function = getattr(library, kernel)
    workspace = _workspace(library, kernel)
    shapes, expected = CASES[name]
    generator = np.random.default_rng(7)
    inputs = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
    wanted = expected(*inputs)
    result = np.full(wanted.shape, np.nan, np.float32)
    arrays = [array.ctypes.data_as(ctypes.c_void_p) for array in (*inputs, result)]
    declared = re.findall(r"^ \*     \w+: \w+\[[\d, ]+\](.*)$", text, re.MULTILINE)
    pairs = zip((*inputs, result), declared, strict=True)
    ahead = prepared(library, kernel, [array for array, about in pairs if about == ", constant"])
    assert function(*arrays, *ahead, workspace) == 0
    np.testing.assert_allclose(result, wanted, rtol=2e-4, atol=2e-4)


def _build(text: str, folder: Path) -> tuple[str, ctypes.CDLL]:
    """Run the command in the header of a text, as a person would; the kernel's name with it."""
    match = re.search(r"gcc .* (tw_[0-9a-f]{16})\.c.*", text)
    assert match is not None, text[:2000]
    name = match.group(1)
    (folder / f"{name}.c").write_text(text)
    built = subprocess.run(
        match.group(0).split(), cwd=folder, capture_output=True, text=True, check=False
    )
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
    return name, ctypes.CDLL(str(folder / f"{name}.so"))


def _workspace(library: ctypes.CDLL, name: str) -> ctypes.Array[ctypes.c_char] | None:
    size = getattr(library, f"{name}_workspace_bytes")
    size.restype = ctypes.c_size_t
    return ctypes.create_string_buffer(size()) if size() else None
