from __future__ import annotations

from pathlib import Path

import pytest

from tools import features_page
from tools.features_page import main, page
from tuner.features.names import FEATURES


def test_every_feature_is_shown_once_in_the_order_of_the_columns() -> None:
    shown = [line.split("`")[1] for line in page().splitlines() if line.startswith("| `")]
    assert shown == list(FEATURES)


def test_a_feature_shows_its_unit_and_its_meaning() -> None:
    assert "| `flops` | operations | issued by all nests |" in page()


def test_a_stale_page_fails_the_check_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(features_page, "PAGE", tmp_path / "features.md")
    assert main(["--check"]) == 1
    assert "run python -m tools.features_page" in capsys.readouterr().err
    assert main([]) == 0
    assert main(["--check"]) == 0
