"""On PostgreSQL any number write at a time: nothing is handed out twice, missed or lost."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import psycopg
import pytest
import sqlalchemy as sa

import db
from db import events, idempotency, jobs, leases, queue, sql_log, tuning, workers
from db.errors import DatabaseUnavailable
from db.idempotency import Key
from db.leases import Claim, Report
from db.schema import CandidateRow, JobRow
from db.sql_log import SqlLog
from tests.conformance.test_tuning_log import EVERYTHING, W, record
from tests.db.samples import OK, TARGET, candidate, enrolment, new_job, owner, running_job
from tuner.record import Purpose

#: Long enough for what is not held back to be done; whatever is held back is late by as much.
LATER_S = 0.3


@pytest.fixture
def url(postgres):
    with postgres.database() as url:
        yield url


@pytest.fixture
def two(url):
    """The database as two processes have it open."""
    with ExitStack() as over:
        both = [db.open(url, db.Role.SERVER) for _ in range(2)]
        for one in both:
            over.callback(one.close)
        yield both


@contextmanager
def meanwhile(do):
    """`do` runs in a thread while the block goes on, and has ended after it."""
    with ThreadPoolExecutor(1) as pool:
        doing = pool.submit(do)
        yield
    doing.result()


def claimed(session, worker, claim, max_items=16):
    wish = Claim(worker=worker, id=claim, targets=[TARGET], max_items=max_items)
    return leases.claim(session, wish, 1.0, 1e6)


def fleet(session, count):
    return [workers.enrol(session, enrolment(name=f"box {n}"), 0.0).id for n in range(count)]


def test_many_workers_at_two_servers_measure_each_candidate_once(two):
    with two[0].write() as session:
        _, job = running_job(session, trials=160)
        queue.submit(session, job, [candidate(f"c{n}") for n in range(160)])
        names = fleet(session, 8)
    handed_out, begin = Counter(), threading.Barrier(len(names))

    def work(name):
        database, begun = two[names.index(name) % 2], 0
        begin.wait()
        while True:
            begun += 1
            with database.write() as session:
                grant = claimed(session, name, str(begun), max_items=5)
            if grant is None:
                return
            ids = [row.id for row in grant.items]
            handed_out.update(ids)
            said = Report(
                worker=name, lease=grant.lease.id, fence=grant.lease.fence,
                results=dict.fromkeys(ids, OK),
            )  # fmt: skip
            with database.write() as session:
                assert leases.report(session, said, 2.0).accepted == ids
            with database.write() as session:
                leases.reap(session, 3.0)

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(work, names))
    # Some may have found all that was left in the hands of others, and gone home early.
    work_left = [n for n in range(160) if handed_out[f"c{n}"] == 0]
    assert (set(handed_out.values()), work_left) == ({1}, [])
    with two[1].read() as session:
        row = jobs.get(session, job.id)
        assert (row.issued, row.done, row.failed) == (160, 160, 0)
        told = events.since(session, job.id, 0, 1000)
    assert [event.number for event in told] == list(range(1, 163))
    assert len(SqlLog(two[1]).records(EVERYTHING)) == 160


def test_what_one_claim_has_another_leaves(two):
    with two[0].write() as session:
        _, job = running_job(session)
        queue.submit(session, job, [candidate(id) for id in "abc"])
        names = fleet(session, 3)
    with two[0].write() as first, two[1].write() as second:
        assert [row.id for row in claimed(first, names[0], "1", 2).items] == ["a", "b"]
        assert [row.id for row in claimed(second, names[1], "1", 2).items] == ["c"]
    with two[0].write() as session:
        assert claimed(session, names[2], "1") is None


def test_a_play_off_is_not_shared_out(two):
    with two[0].write() as session:
        _, job = running_job(session)
        queue.submit(session, job, [candidate(id, purpose=Purpose.PLAYOFF) for id in "abcd"])
        names = fleet(session, 2)

    def other():
        with two[1].write() as session:
            assert claimed(session, names[1], "1") is None

    with two[0].write() as session:
        first = claimed(session, names[0], "1")
        with meanwhile(other):
            threading.Event().wait(LATER_S)
            session.commit()
    assert [row.id for row in first.items] == list("abcd")


def test_a_claim_that_is_repeated_at_another_server_waits_for_its_grant(two):
    with two[0].write() as session:
        _, job = running_job(session)
        queue.submit(session, job, [candidate(id) for id in "ab"])
        (name,) = fleet(session, 1)
    again = []

    def repeated():
        with two[1].write() as session:
            again.append(claimed(session, name, "same", 1))

    with two[0].write() as session:
        first = claimed(session, name, "same", 1)
        with meanwhile(repeated):
            session.commit()
    assert again[0].lease.id == first.lease.id
    assert [row.id for row in again[0].items] == ["a"]


def test_a_job_that_is_cancelled_while_it_is_claimed_withdraws_what_went_out(two):
    with two[0].write() as session:
        _, job = running_job(session)
        queue.submit(session, job, [candidate(id) for id in "ab"])
        (name,) = fleet(session, 1)

    def cancel():
        with two[1].write() as session:
            jobs.cancel(session, jobs.lock(session, job.id), 2.0)

    with two[0].write() as session:
        claimed(session, name, "1", 1)
        with meanwhile(cancel):
            threading.Event().wait(LATER_S)
            session.commit()
    with two[0].read() as session:
        states = session.execute(sa.select(CandidateRow.id, CandidateRow.state)).all()
    assert dict(map(tuple, states)) == {"a": "withdrawn", "b": "cancelled"}


def test_who_reads_the_log_up_to_a_number_has_missed_nothing_below_it(two):
    reader, later = SqlLog(two[0]), SqlLog(two[1])
    reader.add_workload(W)

    def append():
        later.append([record("later")])

    reader.append([record("earlier")])
    seen = reader.records(EVERYTHING)
    with two[0].write() as session:
        sql_log.append(session, [record("slow")], 0.0)
        with meanwhile(append):
            threading.Event().wait(LATER_S)
            seen += reader.records(EVERYTHING, after=seen[-1].sequence)
            session.commit()
    seen += reader.records(EVERYTHING, after=seen[-1].sequence)
    assert [r.id for r in seen] == ["earlier", "slow", "later"]


def test_two_tuners_lease_two_jobs_at_a_time(two):
    with two[0].write() as session:
        worker, token = workers.enrol(session, enrolment(), 0.0), owner(session)
        made = [jobs.create(session, new_job(token), 0.0).id for _ in range(2)]
    with two[0].write() as first, two[1].write() as second:
        assert tuning.lease(first, "one", [worker], 1.0, 61.0).id == made[0]
        assert tuning.lease(second, "two", [worker], 1.0, 61.0).id == made[1]
        assert tuning.lease(second, "two", [worker], 1.0, 61.0) is None
    with two[0].read() as session:
        held = [tuple(row) for row in session.execute(sa.select(JobRow.tuner, JobRow.fence))]
    assert sorted(held) == [("one", 1), ("two", 1)]


def test_leases_of_a_job_that_is_busy_are_reaped_later(two):
    with two[0].write() as session:
        _, job = running_job(session)
        queue.submit(session, job, [candidate("a")])
        claimed(session, *fleet(session, 1), "1")
    with two[0].write() as session:
        tuning.hold(session, job.id, job.fence)
        with two[1].write() as reaping:
            assert leases.reap(reaping, 2e6) == 0
    with two[1].write() as reaping:
        assert leases.reap(reaping, 2e6) == 1


def test_two_submissions_of_a_new_workload_and_one_key_end_as_one(two):
    with two[0].write() as session:
        key = Key(token=owner(session), key="k", request="r")

    def submit(database):
        with database.write() as session:
            found = idempotency.answered(session, key)
            if found is None:
                found = {"id": jobs.create(session, new_job(key.token), 0.0).id}
                threading.Event().wait(LATER_S / 3)
                idempotency.keep(session, key, found, 0.0)
            return found

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(submit, two)
    assert one == other


def test_a_submission_wakes_who_listens(url, two):
    with two[0].write() as session:
        _, job = running_job(session)
    with psycopg.connect(url, autocommit=True) as listening:
        listening.execute("LISTEN tilewright")
        with two[0].write() as session:
            queue.submit(session, tuning.hold(session, job.id, job.fence), [candidate("a")])
        assert list(listening.notifies(timeout=20, stop_after=1))


def test_a_connection_that_was_lost_is_made_anew(two):
    def lose():
        with two[1].write() as session:
            session.execute(sa.text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ))  # fmt: skip

    def cut_off():
        with two[0].write() as session:
            owner(session)
            lose()
            owner(session)

    before = two[0].change_mark()
    with pytest.raises(DatabaseUnavailable):
        cut_off()
    with pytest.raises(DatabaseUnavailable):
        two[0].change_mark()
    assert two[0].change_mark() != before
    with two[0].write() as session:
        owner(session)


def test_moments_are_the_database_s_whatever_this_machine_s_clock_says(two, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 5.0)
    with two[0].read() as session:
        there = float(session.scalar(sa.text("SELECT extract(epoch FROM clock_timestamp())")))
    assert two[0].now() == pytest.approx(there, abs=30)
