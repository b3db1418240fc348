"""Two jobs on one workload at a time, on the database's queue: the second one runs whole while the
first one waits for results."""

import threading
from dataclasses import replace

import pytest

import db
from db import jobs, leases, tuning, workers
from db.jobs import NewWorkload
from db.leases import Claim, Report
from db.sql_log import SqlLog
from server.services.job_runner import tune_job
from server.services.queue_bench import QueueBench
from tests.db.samples import enrolment, new_job, owner
from tests.tune.fake_bench import by_hash
from tests.tune.jobs import AVX512, MATMUL, Silence
from tuner.codegen.kernel import GENERATOR, generate
from tuner.ir.show import show
from tuner.log import LoggedWorkload, RecordFilter, steps_key
from tuner.record import Purpose
from tuner.schedule.steps import schedule_from_json
from tuner.tune.loop import tune

LOGGED = LoggedWorkload(hash=MATMUL.hash, text=show(MATMUL.program))
TRIALS = 40


class Running:
    """One job with its bench; every look for results makes the worker measure one lease."""

    def __init__(self, database, token, worker, **changes):
        self.database, self.worker, self.looks = database, worker, 0
        asked = NewWorkload(logged=LOGGED, name="f", op=None, sizes={})
        fields = {"workloads": (asked,), "target": AVX512.name, "trials": TRIALS, **changes}
        with database.write() as session:
            job = jobs.create(session, new_job(token, seconds=1e6, **fields), 0.0)
            assert tuning.lease(session, "t", [worker], 0.0, 1e9) is job
        self.job = tune_job(database, job, 0.0)
        self.bench = QueueBench(database, job.id, job.fence, 0.001, threading.Event())
        self.collect, self.bench.collect = self.bench.collect, self.measured

    def measured(self, wait_s):
        self.looks += 1
        wish = Claim(
            worker=self.worker.id, id=f"{self.job.id}-{self.looks}", targets=[AVX512.name],
            max_items=16,
        )  # fmt: skip
        with self.database.write() as session:
            grant = leases.claim(session, wish, 0.0, 1e9)
            if grant is not None:
                results = {row.id: measurement(row.steps) for row in grant.items}
                said = Report(
                    worker=self.worker.id, lease=grant.lease.id, fence=grant.lease.fence,
                    results=results,
                )  # fmt: skip
                leases.report(session, said, 1.0)
        return self.collect(wait_s)

    def tune(self):
        return tune(self.job, SqlLog(self.database), self.bench, Silence())

    def searched(self):
        where = RecordFilter(job=self.job.id, purpose=Purpose.SEARCH)
        return [steps_key(r.steps) for r in SqlLog(self.database).records(where)]


def measurement(steps):
    source = generate(MATMUL.program, schedule_from_json(steps), AVX512)
    found = replace(by_hash(steps), samples_s=(1e-3,) * 3, source_sha256=source.sha256)
    return replace(found, generator=GENERATOR, compiler="gcc 12")


@pytest.fixture
def database(tmp_path):
    url = f"sqlite:///{tmp_path}/t.db"
    db.migrate(url)
    database = db.open(url)
    yield database
    database.close()


def test_two_jobs_at_a_time_measure_nothing_twice_and_share_the_best(database):
    with database.write() as session:
        worker = workers.enrol(session, enrolment(targets=(AVX512.name,)), 0.0)
        token = owner(session)
    first = Running(database, token, worker)
    second = Running(database, token, worker, priority=5)
    measured, meanwhile = first.bench.collect, []

    def while_the_second_runs(wait_s):
        if first.looks == 1:
            assert second.bench.pending_elsewhere(MATMUL.hash)
            meanwhile.extend(second.tune())
        return measured(wait_s)

    first.bench.collect = while_the_second_runs
    (tuned,) = first.tune()
    assert (tuned.done, meanwhile[0].done) == (TRIALS, TRIALS)
    asked = first.searched() + second.searched()
    assert len(set(asked)) == len(asked) == 2 * TRIALS
    records = SqlLog(database).records(RecordFilter(purpose=Purpose.SEARCH))
    assert tuned.best.median_s == min(r.measurement.median_s for r in records)
    assert tuned.best.median_s <= meanwhile[0].best.median_s
