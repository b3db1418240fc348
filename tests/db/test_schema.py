"""The migrations and db/schema.py tell the same; databases of other versions are refused."""

import json
import re
import sqlite3
import stat
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import make_url

import db
from db import jobs, queue, tuning, workers
from db.engine import Database
from db.migrate import require_current
from db.schema import Base
from db.sql_log import SqlLog
from tuner.errors import Conflict, LogError
from tuner.log import RecordFilter
from tuner.record import Outcome, Setup

SAVED = Path(__file__).parent / "saved"
REVISIONS = ("0001", "0002", "0003")


def _definitions(engine):
    """Table or index -> the parts of its definition; the order of constraints means nothing."""
    query = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%'"
    if engine.dialect.name == "postgresql":
        query = """
            SELECT table_name || '.' || column_name, concat_ws(', ', data_type, is_nullable,
                regexp_replace(column_default, '::[a-z ]+|[^a-z0-9.{}_()]', '', 'g'))
            FROM information_schema.columns WHERE table_schema = 'public'
            UNION ALL SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
                WHERE connamespace = 'public'::regnamespace
            UNION ALL SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
            UNION ALL SELECT sequencename, data_type::text FROM pg_sequences
        """
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(query).all()
    return {
        name: sorted(
            part.strip() for part in re.sub(r"\s+", " ", sql).removesuffix(")").split(", ")
        )
        for name, sql in rows
        if "alembic_version" not in name
    }


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request, tmp_path):
    """Makes the URLs of databases without a schema."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres").create
    return (f"sqlite:///{tmp_path}/{number}.db" for number in count()).__next__


def test_a_migrated_database_equals_a_fresh_one(new_url):
    fresh, url = Database(new_url()), new_url()
    Base.metadata.create_all(fresh.engine)
    db.migrate(url)
    migrated = Database(url)
    assert _definitions(migrated.engine) == _definitions(fresh.engine)
    migrated.close()
    fresh.close()


def test_migrating_twice_keeps_what_is_there(database_url):
    database = db.open(database_url)
    with database.write() as session:
        session.execute(sa.text("INSERT INTO sources VALUES ('abc', 'text')"))
    database.close()
    db.migrate(database_url)
    database = db.open(database_url)
    with database.read() as session:
        assert session.execute(sa.text("SELECT text FROM sources")).scalar_one() == "text"
    database.close()


def restored(revision, url, folder):
    """Makes the saved database of an older revision at `url`."""
    path = folder / f"{revision}.db"
    with sqlite3.connect(path) as old:
        old.executescript((SAVED / f"{revision}.sql").read_text())
    old.close()
    if url.startswith("sqlite"):
        path.rename(make_url(url).database)
        return
    db.migrate(url, revision)
    database, tables = Database(url), sa.MetaData()
    tables.reflect(database.engine)
    source = sa.create_engine(f"sqlite:///{path}")
    with source.connect() as rows, database.engine.begin() as to:
        for table in tables.sorted_tables:
            if table.name != "alembic_version":
                columns = [
                    sa.type_coerce(c, sa.Text) if isinstance(c.type, sa.JSON) else c
                    for c in table.c
                ]
                values = [
                    {c.name: _loaded(c, v) for c, v in zip(table.c, row, strict=True)}
                    for row in rows.execute(sa.select(*columns))
                ]
                if values:
                    to.execute(table.insert(), values)
    source.dispose()
    database.close()


def _loaded(column, value):
    return json.loads(value) if isinstance(column.type, sa.JSON) and value else value


@pytest.mark.parametrize("revision", REVISIONS)
def test_an_older_database_is_brought_up_with_what_it_holds(new_url, revision, tmp_path):
    url = new_url()
    restored(revision, url, tmp_path)
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
        assert first.more == (revision > "0001")
        assert first.spent == ({"search": 1.5} if revision > "0002" else {})
        weights = [row.weight for row in jobs.workloads_of(session, first.id)]
        assert weights == [2.5 if revision > "0002" else 1.0]
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


def test_the_change_mark_moves_with_a_commit_of_anybody(database_url):
    watching, writing = db.open(database_url), db.open(database_url)
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


def test_a_database_of_another_version_is_refused(new_url):
    url = new_url()
    db.migrate(url)
    database = db.open(url)
    with database.write() as session:
        session.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(LogError, match="revision 9999, this version needs"):
        require_current(database)
    database.close()


def test_a_database_without_a_schema_is_refused(postgres):
    with pytest.raises(LogError, match="revision none, this version needs"):
        db.open(postgres.create(), db.Role.TUNER)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://host/name"])
def test_other_kinds_of_database_are_refused(url):
    with pytest.raises(ValueError, match="expected sqlite:///PATH"):
        Database(url)


def test_one_process_for_each_role(tmp_path):
    url = f"sqlite:///{tmp_path}/t.db"
    db.migrate(url)
    server, tuner = db.open(url, db.Role.SERVER), db.open(url, db.Role.TUNER)
    with pytest.raises(Conflict, match=r"another server \(process \d+\) has this database open"):
        db.open(url, db.Role.SERVER)
    server.close()
    db.open(url, db.Role.SERVER).close()
    tuner.close()
