"""What is served for each demo workload compiles cleanly by hand and equals numpy."""

import ctypes
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import require
from tests.end_to_end.running import Running
from tilewright.client import Json
from tilewright.demo import WORKLOADS

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


@pytest.mark.parametrize("name", CASES)
def test_served_c_compiles_without_a_warning_and_equals_numpy(
    name: str, service: Running, tmp_path: Path
) -> None:
    require("gcc")
    workload = next(w for w in WORKLOADS if name in (w.get("op"), _program_name(w)))
    body = {"workloads": [workload], "budget": {"trials": 4, "seconds": 200}}
    job = service.finished(service.client.post("/v1/jobs", body)["id"])
    (found,) = job["workloads"]
    assert found["best"] is not None, found["reason"]
    text = service.client.text(found["best"]["source_url"])
    kernel, library = _build(text, tmp_path)
    function = getattr(library, kernel)
    workspace = _workspace(library, kernel)
    shapes, expected = CASES[name]
    generator = np.random.default_rng(7)
    inputs = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
    wanted = expected(*inputs)
    result = np.full(wanted.shape, np.nan, np.float32)
    arrays = [array.ctypes.data_as(ctypes.c_void_p) for array in (*inputs, result)]
    assert function(*arrays, workspace) == 0
    np.testing.assert_allclose(result, wanted, rtol=2e-4, atol=2e-4)


def _program_name(workload: Json) -> str:
    return str(workload.get("program", "")).partition("(")[0].removeprefix("def ")


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
