"""Golden texts: one small file for each, rewritten with --update-golden."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden texts")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with tests/golden/NAME."""
    update = request.config.getoption("--update-golden", default=False)

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if update:
            path.write_text(text)
        assert path.read_text() == text, f"{name} differs; --update-golden rewrites it"

    return check
