"""Fixtures of the command line's tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _connection(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A known address and token, and no data directory of the machine's user."""
    monkeypatch.setenv("TILEWRIGHT_URL", "http://service.test")
    monkeypatch.setenv("TILEWRIGHT_TOKEN", "secret")
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path / "data"))
