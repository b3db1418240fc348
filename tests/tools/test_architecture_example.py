"""The worked example in docs/architecture.md is what the code prints today."""

from tools.architecture_example import PAGE, fresh_page


def test_page_is_fresh() -> None:
    assert PAGE.read_text("utf-8") == fresh_page(), "run python -m tools.architecture_example"
