import stat
from pathlib import Path

import pytest

import db
from db import tokens
from tilewright.deployment import DeploymentError, database_url, prepare
from tuner.errors import Conflict


def _role(data: Path, token: str) -> str:
    database = db.open(database_url(data))
    try:
        with database.read() as session:
            row = tokens.find(session, token.strip())
            return row.role if row else "unknown"
    finally:
        database.close()


def test_a_new_directory_gets_a_database_and_private_tokens(tmp_path: Path) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "w.token"
    prepare(data, elsewhere)
    for path, role in ((data / "admin.token", "admin"), (elsewhere, "work")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert _role(data, path.read_text()) == role
    assert stat.S_IMODE(data.stat().st_mode) == 0o700


def test_a_second_start_keeps_the_tokens_and_mends_a_foreign_one(tmp_path: Path) -> None:
    prepare(tmp_path)
    admin = (tmp_path / "admin.token").read_text()
    (tmp_path / "worker.token").write_text("tw_of_another_database\n")
    prepare(tmp_path)
    assert (tmp_path / "admin.token").read_text() == admin
    assert _role(tmp_path, (tmp_path / "worker.token").read_text()) == "work"


def test_a_directory_whose_server_runs_is_left_alone(tmp_path: Path) -> None:
    prepare(tmp_path)
    running = db.open(database_url(tmp_path), db.Role.SERVER)
    try:
        with pytest.raises(Conflict, match="another server"):
            prepare(tmp_path)
    finally:
        running.close()


def test_a_directory_that_is_a_file_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(DeploymentError, match=r"cannot use .*data: "):
        prepare(tmp_path / "data")
