from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tools import primitives_page
from tools.primitives_page import FAMILIES, OTHERS, main, page
from tuner.schedule.apply import REWRITES
from tuner.schedule.steps import STEPS


def test_every_primitive_is_shown_once() -> None:
    headings = [line[4:] for line in page().splitlines() if line.startswith("### ")]
    assert sorted(headings) == sorted(name for name, kind in STEPS.items() if kind in REWRITES)


def test_primitives_stand_in_the_order_of_their_families() -> None:
    text = page()
    shown = [name for names in FAMILIES.values() for name in names if name in STEPS]
    places = [text.index(f"### {name}\n") for name in shown]
    assert places == sorted(places)


def test_a_primitive_shows_its_arguments_and_its_docstring() -> None:
    text = page()
    assert "```python\nsplit(loop: str, factor: int, outer: str, inner: str)\n```" in text
    assert "\n    for i in range(10):            for io in range(3):\n" in text


def test_a_primitive_of_no_family_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Blend:
        loop: str

    def blend(program: object, step: Blend) -> object:
        """Blends."""
        return program

    monkeypatch.setitem(STEPS, "blend", Blend)  # type: ignore[misc]
    monkeypatch.setitem(REWRITES, Blend, blend)  # type: ignore[misc]
    assert page().partition(f"## {OTHERS}\n")[2].strip() == (
        "### blend\n\n```python\nblend(loop: str)\n```\n\nBlends."
    )


def test_a_stale_page_fails_the_check_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(primitives_page, "PAGE", tmp_path / "primitives.md")
    assert main(["--check"]) == 1
    assert "run python -m tools.primitives_page" in capsys.readouterr().err
    assert main([]) == 0
    assert main(["--check"]) == 0
