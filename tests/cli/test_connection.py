from pathlib import Path

import pytest

from tilewright.connection import Connection, ConnectionUnknown, find


def test_environment_wins_over_what_up_wrote(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("http://one\n")
    (tmp_path / "admin.token").write_text("first\n")
    data = {"TILEWRIGHT_DATA": str(tmp_path)}
    assert find(data) == Connection("http://one", "first")
    assert find({**data, "TILEWRIGHT_URL": "http://two"}) == Connection("http://two", "first")
    assert find({**data, "TILEWRIGHT_TOKEN": "second"}) == Connection("http://one", "second")


def test_no_service_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(ConnectionUnknown, match=r"`tilewright up`.*TILEWRIGHT_URL"):
        find({"TILEWRIGHT_DATA": str(tmp_path)})


def test_no_token_says_where_one_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(ConnectionUnknown, match=r"no token for http://one.*admin\.token"):
        find({"TILEWRIGHT_DATA": str(tmp_path), "TILEWRIGHT_URL": "http://one"})


def test_a_token_is_not_shown() -> None:
    assert "secret" not in repr(Connection("http://one", "secret"))
