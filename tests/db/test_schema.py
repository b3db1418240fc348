"""The migrations and db/schema.py tell the same; databases of other versions are refused."""

import re
import sqlite3
import stat
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import make_url

import db
from db import jobs, queue, tuning, workers
from db.engine import Database, make_engine
from db.migrate import require_current
from db.schema import Base
from db.sql_log import SqlLog
from tuner.errors import Conflict, LogError
from tuner.log import RecordFilter
from tuner.record import Outcome, Setup


def _definitions(engine):
    """Table or index -> the parts of its definition; the order of constraints means nothing."""
    query = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%'"
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(query).all()
    return {
        name: sorted(
            part.strip() for part in re.sub(r"\s+", " ", sql).removesuffix(")").split(", ")
        )
        for name, sql in rows
        if name != "alembic_version"
    }


def test_a_migrated_database_equals_a_fresh_one(tmp_path):
    fresh = make_engine(make_url(f"sqlite:///{tmp_path}/fresh.db"))
    Base.metadata.create_all(fresh)
    migrated = f"sqlite:///{tmp_path}/migrated.db"
    db.migrate(migrated)
    database = Database(migrated)
    assert _definitions(database.engine) == _definitions(fresh)
    database.close()
    fresh.dispose()


def test_migrating_twice_keeps_what_is_there(tmp_path):
    url = f"sqlite:///{tmp_path}/data/t.db"
    db.migrate(url)
    database = db.open(url)
    with database.write() as session:
        session.execute(sa.text("INSERT INTO sources VALUES ('abc', 'text')"))
    database.close()
    db.migrate(url)
    database = db.open(url)
    with database.read() as session:
        assert session.execute(sa.text("SELECT text FROM sources")).scalar_one() == "text"
    database.close()


def test_an_older_database_is_brought_up_with_what_it_holds(tmp_path):
    with sqlite3.connect(tmp_path / "old.db") as old:
        old.executescript((Path(__file__).parent / "saved" / "0001.sql").read_text())
    old.close()
    url = f"sqlite:///{tmp_path}/old.db"
    db.migrate(url)
    database = db.open(url)
    log = SqlLog(database)
    records = {r.id: r for r in log.records(RecordFilter())}
    assert {id: r.number for id, r in records.items()} == {"a": 1, "b": 2, "c": 1}
    assert records["b"].measurement.outcome == Outcome.COMPILE_ERROR
    setup = Setup("f1:x", "g1:old", "gcc 12.2.0")
    assert len(log.measured("w1:a", "cpu-avx2-1t", setup)) == 2
    with database.write() as session:
        (first, *_) = jobs.page(session, None, 9)[::-1]
        (waiting,) = queue.outstanding(session, first.id)
        assert (waiting.id, waiting.number) == ("d", 3)
        live = workers.everyone(session)
        tuning.orphan_all(session)
        assert tuning.lease(session, "tuner", live, 70.0, 99.0) is first
        assert first.compiler == "gcc 12"
    database.close()


def test_only_the_owner_can_read_the_file(tmp_path):
    db.migrate(f"sqlite:///{tmp_path}/t.db")
    assert stat.S_IMODE((tmp_path / "t.db").stat().st_mode) == 0o600


def test_commits_are_durable_and_readers_do_not_block(tmp_path):
    url = f"sqlite:///{tmp_path}/t.db"
    db.migrate(url)
    database = db.open(url)
    count = sa.text("SELECT count(*) FROM sources")
    with database.read() as session:
        pragmas = {
            name: session.execute(sa.text(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        }
        assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
        assert session.execute(count).scalar_one() == 0
        with database.write() as writer:
            writer.execute(sa.text("INSERT INTO sources VALUES ('abc', 'text')"))
        assert session.execute(count).scalar_one() == 0
    database.close()


def test_the_change_mark_moves_with_a_commit_of_anybody(tmp_path):
    url = f"sqlite:///{tmp_path}/t.db"
    db.migrate(url)
    watching, writing = db.open(url), db.open(url)
    before = watching.change_mark()
    assert watching.change_mark() == before
    with writing.write() as session:
        session.execute(sa.text("INSERT INTO sources VALUES ('abc', 'text')"))
    assert watching.change_mark() != before
    watching.close()
    writing.close()


def test_a_missing_database_is_an_error(tmp_path):
    with pytest.raises(LogError, match=r"no such database; make it with db\.migrate"):
        db.open(f"sqlite:///{tmp_path}/none.db")


def test_a_database_of_another_version_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/t.db"
    db.migrate(url)
    engine = make_engine(make_url(url))
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(LogError, match="revision 9999, this version needs"):
        require_current(engine)
    engine.dispose()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://host/name"])
def test_other_kinds_of_database_are_refused(url):
    with pytest.raises(ValueError, match="expected sqlite:///PATH"):
        make_engine(make_url(url))


def test_one_process_for_each_role(tmp_path):
    url = f"sqlite:///{tmp_path}/t.db"
    db.migrate(url)
    server, tuner = db.open(url, db.Role.SERVER), db.open(url, db.Role.TUNER)
    with pytest.raises(Conflict, match=r"another server \(process \d+\) has this database open"):
        db.open(url, db.Role.SERVER)
    server.close()
    db.open(url, db.Role.SERVER).close()
    tuner.close()
