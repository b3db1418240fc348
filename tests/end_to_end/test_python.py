"""The README's Python against a running service: from a decorated function to numbers."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_readme import PYTHON
from tests.end_to_end.running import Running


@pytest.fixture(autouse=True)
def _here(service: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The service that `up` runs, and a cache of the test's own."""
    monkeypatch.delenv("TILEWRIGHT_URL", raising=False)
    monkeypatch.delenv("TILEWRIGHT_TOKEN", raising=False)
    monkeypatch.setenv("TILEWRIGHT_DATA", str(service.data))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def _run(block: str, tmp_path: Path, **smaller: str) -> dict[str, object]:
    """What a block of the README defines, run as a file after making its numbers smaller."""
    for name, value in smaller.items():
        assert f"{name}=" in block
        block = block.replace(f"{name}=", f"{name}={value} or ")
    (tmp_path / "readme.py").write_text(block)
    return runpy.run_path(str(tmp_path / "readme.py"))


def test_a_decorated_function_becomes_a_kernel(tmp_path: Path) -> None:
    found = _run(next(text for text in PYTHON if ".tune(" in text), tmp_path, trials="6")
    assert (found["c"] == 128).all()
    rng = np.random.default_rng(0)
    a = rng.standard_normal((256, 128), np.float32)
    b = rng.standard_normal((128, 512), np.float32)
    np.testing.assert_allclose(found["kernel"](a, b), a @ b, rtol=1e-3, atol=1e-4)
    assert found["product"].kernel().source == found["kernel"].source


def test_the_client_submits_follows_and_loads(tmp_path: Path) -> None:
    block = next(text for text in PYTHON if "Client()" in text)
    found = _run(block, tmp_path, rows="24", cols="40", trials="6")
    x = np.random.default_rng(0).standard_normal((24, 40)).astype(np.float32)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(
        found["softmax"](x), e / e.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-6
    )
