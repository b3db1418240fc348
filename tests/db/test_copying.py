"""An SQLite database moves to PostgreSQL whole, or not at all."""

import json
from hashlib import sha256

import pytest
import sqlalchemy as sa

import db
from db import jobs, queue, tokens, tuning, workers
from db.copying import copy
from db.schema import Base, LeaseRow, SourceRow
from db.sql_log import SqlLog
from db.tokens import TokenRole
from tests.conformance.test_tuning_log import W, best
from tests.db.samples import OK, candidate, submitted
from tests.db.test_leases import report, take
from tilewright.cli import run
from tuner.errors import Conflict, LogError
from tuner.log import RecordFilter, SavedModel

ODD = 'tab\tback\\slash \\N newline\n quote" NULL é \U0001f600'


@pytest.fixture
def source(tmp_path):
    """The URL of a database with something in most tables; a lease's number was given and is
    gone."""
    url = f"sqlite:///{tmp_path}/t.db"
    db.migrate(url)
    database = db.open(url)
    with database.write() as session:
        tokens.create(session, ODD, TokenRole.READ, 0.1 + 0.2)
        worker, job = submitted(session, "a", "b")
        report(session, take(session, worker, "c1", max_items=1), {"a": OK})
        session.add(LeaseRow(fence=41, id="gone", worker=worker.id, claim="g", job=job.id,
                             state="lost", expires_at=0.0))  # fmt: skip
        session.flush()
        session.execute(sa.delete(LeaseRow).where(LeaseRow.fence == 41))
        session.add(SourceRow(sha256="0" * 64, text=ODD * 500))
    log = SqlLog(database)
    log.add_workload(W)
    log.set_best([best(2, 1e-3)])
    log.save_model(SavedModel(target="t", data=bytes(range(256)), features="f", extent=3))
    database.close()
    return url


@pytest.fixture
def empty(postgres):
    with postgres.database() as url:
        yield url


def rows_of(url):
    database = db.open(url)
    with database.read() as session:
        found = {
            table.name: sorted((tuple(row) for row in session.execute(sa.select(table))), key=repr)
            for table in Base.metadata.sorted_tables
        }
    database.close()
    return found


def test_everything_arrives_and_the_source_stays(source, postgres):
    before, target = rows_of(source), postgres.create()
    copied = copy(source, target)
    assert rows_of(target) == before == rows_of(source)
    assert {one.table: one.rows for one in copied} == {t: len(r) for t, r in before.items()}
    assert len({one.sha256 for one in copied if one.rows}) == sum(bool(r) for r in before.values())


def test_work_goes_on_where_it_was_with_numbers_that_were_never_given(source, empty):
    copy(source, empty)
    database = db.open(empty)
    with database.write() as session:
        (job,), (worker,) = jobs.page(session, None, 9), workers.everyone(session)
        queue.submit(session, tuning.hold(session, job.id, job.fence), [candidate("c")])
        grant = take(session, worker, "c2")
        assert [row.id for row in grant.items] == ["b", "c"]
        assert grant.lease.fence == 42
        assert report(session, grant, {"b": OK, "c": OK}).accepted == ["b", "c"]
    assert [r.sequence for r in SqlLog(database).records(RecordFilter(job=job.id))] == [1, 2, 3]
    database.close()


def test_a_target_that_is_not_empty_is_left_alone(source, empty):
    database = db.open(empty)
    SqlLog(database).add_source(sha256(b"foo").hexdigest(), "foo")
    database.close()
    before = rows_of(empty)
    with pytest.raises(Conflict, match=r"table sources of .* has 1 rows; expected a new database"):
        copy(source, empty)
    assert rows_of(empty) == before


def test_a_copy_that_fails_leaves_nothing(source, empty):
    database = db.open(source)
    with database.write() as session:
        session.execute(sa.text("UPDATE events SET data = 'no JSON' WHERE number = 2"))
    database.close()
    with pytest.raises(LogError, match=r"table events was refused, nothing was copied"):
        copy(source, empty)
    assert not any(rows_of(empty).values())


def test_what_arrives_otherwise_is_told(source, empty):
    database = db.open(empty)
    with database.write() as session:
        session.execute(sa.text(
            "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN NEW.name = 'another'; RETURN NEW; END $$"
        ))  # fmt: skip
        session.execute(sa.text(
            "CREATE TRIGGER spoil BEFORE INSERT ON tokens FOR EACH ROW EXECUTE FUNCTION spoil()"
        ))  # fmt: skip
    with pytest.raises(LogError, match=r"table tokens: 2 rows with checksum .* nothing was copied"):
        copy(source, empty)
    with database.write() as session:
        session.execute(sa.text("DROP TRIGGER spoil ON tokens"))
        session.execute(sa.text("DROP FUNCTION spoil"))
    database.close()
    assert not any(rows_of(empty).values())


@pytest.mark.parametrize("role", list(db.Role))
def test_a_source_that_is_open_is_refused(source, empty, role):
    running = db.open(source, role)
    with pytest.raises(Conflict, match=f"another {role}"):
        copy(source, empty)
    running.close()
    assert not any(rows_of(empty).values())


def test_the_command_tells_what_it_copied(source, empty, capsys):
    path = source.removeprefix("sqlite:///")
    assert run(["db", "copy", path, empty, "--json"]) == 0
    told = {one["table"]: one["rows"] for one in json.loads(capsys.readouterr().out)["tables"]}
    assert (told["candidates"], told["records"], told["tokens"]) == (2, 1, 2)
    assert run(["db", "copy", path, empty]) == 1
    assert "expected a new database" in capsys.readouterr().err
    assert run(["db", "copy", path, "sqlite:///other.db"]) == 1
    assert "expected postgresql://USER@HOST/NAME" in capsys.readouterr().err
