import importlib.util
from pathlib import Path

import pytest

import tilewright
from tilewright.language import BufferType
from tuner.dtypes import F32
from tuner.errors import TilewrightError

PROGRAM = """
from tilewright import buffer, const, f32, grid

def dense_relu(x: f32[512, 768], w: const[f32[768, 3072]], b: const[f32[3072]], y: f32[512, 3072]):
    h = buffer(f32[512, 3072])
    for i, j in grid(512, 3072):
        h[i, j] = 0.0
        for k in range(768):
            h[i, j] += x[i, k] * w[k, j]
    for i, j in grid(512, 3072):
        y[i, j] = max(h[i, j] + b[j], 0.0)
"""


def test_a_program_is_importable_python_and_never_runs(tmp_path: Path) -> None:
    path = tmp_path / "dense.py"
    path.write_text(PROGRAM)
    spec = importlib.util.spec_from_file_location("dense", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    annotations = module.dense_relu.__annotations__
    assert annotations["x"] == BufferType(F32, (512, 768))
    assert annotations["b"] == BufferType(F32, (3072,), constant=True)
    with pytest.raises(TilewrightError, match="never run"):
        module.dense_relu(None, None, None, None)


def test_what_is_exported_exists() -> None:
    assert len(tilewright.__all__) == len(set(tilewright.__all__))
    assert all(hasattr(tilewright, name) for name in tilewright.__all__)
