"""Any order of submitting, claiming, reporting and losing keeps what the queue promises."""

from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import func, select

import db
from db import jobs, leases, queue, workers
from db.leases import Claim, Report
from db.schema import CandidateRow, RecordRow
from db.states import CandidateState
from tests.db.samples import OK, TARGET, candidate, enrolment, running_job
from tuner.errors import Conflict
from tuner.record import Measurement, Outcome

TRIALS = 6
LEASE_S = 10.0
RELEASED = Measurement(outcome=Outcome.CANCELLED)


class Queue(RuleBasedStateMachine):
    """One worker, one job, and a clock that only the rules move."""

    def __init__(self, new_database):
        super().__init__()
        self.over, self.new_database = ExitStack(), new_database

    @initialize()
    def start(self):
        self.database = db.open(self.over.enter_context(self.new_database()))
        self.now, self.made, self.grants, self.told = 0.0, 0, [], {}
        with self.database.write() as session:
            worker, job = running_job(session, trials=TRIALS)
            self.worker, self.job = worker.id, job.id

    def teardown(self):
        self.database.close()
        self.over.close()

    @rule(n=st.integers(1, 3))
    def submit(self, n):
        fresh = [candidate(f"c{self.made + i}") for i in range(n)]
        try:
            with self.database.write() as session:
                queue.submit(session, jobs.get(session, self.job), fresh)
            self.made += n
        except Conflict:
            assert self.made + n > TRIALS

    @rule(max_items=st.integers(1, 4))
    def claim(self, max_items):
        wish = Claim(
            worker=self.worker, id=f"claim{self.now}-{len(self.grants)}", targets=[TARGET],
            max_items=max_items,
        )  # fmt: skip
        with self.database.write() as session:
            grant = leases.claim(session, wish, self.now, LEASE_S)
        if grant is not None:
            held = tuple(row.id for row in grant.items)
            self.grants.append((grant.lease.id, grant.lease.fence, held))

    @precondition(lambda self: self.grants)
    @rule(data=st.data(), measurement=st.sampled_from([OK, RELEASED]))
    def report(self, data, measurement):
        lease, fence, held = data.draw(st.sampled_from(self.grants))
        some = data.draw(st.lists(st.sampled_from(held), min_size=1, unique=True))
        said = Report(
            worker=self.worker, lease=lease, fence=fence, results=dict.fromkeys(some, measurement)
        )
        try:
            with self.database.write() as session:
                receipt = leases.report(session, said, self.now)
        except Conflict:
            return
        if measurement is OK:
            for id in receipt.accepted:
                assert id not in self.told, "a result was accepted twice"
                self.told[id] = lease

    @rule(seconds=st.floats(1.0, 15.0))
    def time_passes(self, seconds):
        self.now += seconds
        with self.database.write() as session:
            leases.reap(session, self.now)

    @rule()
    def restart_worker(self):
        with self.database.write() as session:
            workers.enrol(session, enrolment(), self.now)

    @rule()
    def withdraw(self):
        with self.database.write() as session:
            queue.withdraw(session, self.job)

    @invariant()
    def nothing_is_lost_or_counted_twice(self):
        with self.database.read() as session:
            job = jobs.get(session, self.job)
            states = session.execute(
                select(CandidateRow.state, func.count()).group_by(CandidateRow.state)
            ).all()
            recorded = set(session.scalars(select(RecordRow.id)))
        assert job.issued == self.made <= TRIALS
        assert sum(count for _, count in states) == self.made
        assert job.done == dict(map(tuple, states)).get(CandidateState.DONE, 0) == len(recorded)
        assert set(self.told) <= recorded


@contextmanager
def in_a_file():
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder)}/t.db"
        db.migrate(url)
        yield url


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_any_order_keeps_the_promises(kind, request):
    new = in_a_file if kind == "sqlite" else request.getfixturevalue("postgres").database
    run_state_machine_as_test(
        lambda: Queue(new),
        settings=settings(
            max_examples=15,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
