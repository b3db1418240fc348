"""The tuning loop's bench on the database's queue."""

import threading

import pytest

import db
from db import jobs, leases, tuning, workers
from db.leases import Claim, Report
from server.services.queue_bench import QueueBench, Stopped
from tests.db.samples import OK, TARGET, candidate, running_job
from tuner.errors import Conflict
from tuner.record import Peaks


class Bench:
    """A QueueBench on a fresh database, and a worker for it."""

    def __init__(self, url):
        self.database, self.stop = db.open(url), threading.Event()
        with self.database.write() as session:
            worker, job = running_job(session, trials=8)
            self.worker, self.job, self.fence = worker.id, job.id, job.fence
        self.queue = self.again()
        self.claims = 0

    def again(self):
        """A bench of the same job, as a tuner makes it after a crash."""
        return QueueBench(self.database, self.job, self.fence, 0.01, self.stop)

    def measure(self, *ids, peaks=None):
        """Claims everything, and reports those of it that are named."""
        self.claims += 1
        wish = Claim(worker=self.worker, id=str(self.claims), targets=[TARGET], max_items=16)
        with self.database.write() as session:
            lease = leases.claim(session, wish, 0.0, 60.0).lease
            said = Report(
                worker=self.worker, lease=lease.id, fence=lease.fence,
                results=dict.fromkeys(ids, OK), peaks=peaks,
            )  # fmt: skip
            leases.report(session, said, 1.0)


@pytest.fixture
def bench(tmp_path):
    url = f"sqlite:///{tmp_path}/t.db"
    db.migrate(url)
    bench = Bench(url)
    yield bench
    bench.database.close()


def ids(items):
    return [item.id for item in items]


def test_results_are_handed_out_once_in_the_order_in_which_they_came(bench):
    bench.queue.submit([candidate("a"), candidate("b"), candidate("c")])
    assert ids(bench.queue.outstanding()) == ["a", "b", "c"]
    assert bench.queue.collect(0.0) == []
    bench.measure("b", "a")
    assert ids(bench.queue.collect(0.0)) == ["b", "a"]
    assert bench.queue.collect(0.0) == []
    assert ids(bench.queue.outstanding()) == ["c"]


def test_collecting_waits_for_a_result(bench):
    bench.queue.submit([candidate("a")])
    threading.Timer(0.1, bench.measure, ["a"]).start()
    assert ids(bench.queue.collect(20.0)) == ["a"]


def test_a_bench_made_anew_leaves_old_results_to_the_log_and_waits_for_the_others(bench):
    bench.queue.submit([candidate("a"), candidate("b")])
    bench.measure("a")
    again = bench.again()
    assert again.collect(0.0) == []
    with bench.database.write() as session:
        leases.lose_all(session, bench.worker, 2.0)
    bench.measure("b")
    assert ids(again.collect(0.0)) == ["b"]


def test_what_is_submitted_again_after_its_result_came_gets_it_once(bench):
    bench.queue.submit([candidate("a"), candidate("b")])
    bench.measure("a")
    again = bench.again()
    again.submit([candidate("a"), candidate("b")])
    assert ids(again.collect(0.0)) == ["a"]
    assert again.collect(0.0) == []


def test_what_is_submitted_again_before_its_result_came_gets_it_once(bench):
    bench.queue.submit([candidate("a")])
    again = bench.again()
    again.submit([candidate("a")])
    bench.measure("a")
    assert ids(again.collect(0.0)) == ["a"]
    assert again.collect(0.0) == []


def test_the_machine_and_its_peaks(bench):
    assert bench.queue.fingerprint(0.0) == "f1:x"
    assert bench.queue.peaks() is None
    bench.queue.submit([candidate("a")])
    peaks = Peaks(flops_per_s=1e11, copy_bytes_per_s=1e10)
    bench.measure("a", peaks=peaks)
    assert bench.queue.peaks() == peaks


def test_withdrawn_candidates_are_not_outstanding_and_their_results_still_come(bench):
    bench.queue.submit([candidate("a"), candidate("b")])
    bench.queue.withdraw()
    assert bench.queue.outstanding() == []
    bench.queue.submit([candidate("c")])
    bench.measure("c")
    assert ids(bench.queue.collect(0.0)) == ["c"]


def test_a_user_who_cancels_is_heard(bench):
    assert not bench.queue.cancelled()
    with bench.database.write() as session:
        jobs.cancel(session, jobs.get(session, bench.job), 1.0)
    assert bench.queue.cancelled()


def test_a_bench_whose_job_another_tuner_has_refuses_everything(bench):
    with bench.database.write() as session:
        live = workers.live(session, -1.0)
        assert tuning.lease(session, "next", live, 61.0, 121.0).id == bench.job
    for call in (
        lambda: bench.queue.submit([candidate("a")]),
        lambda: bench.queue.collect(0.0),
        bench.queue.withdraw,
        bench.queue.cancelled,
        bench.queue.peaks,
    ):
        with pytest.raises(Conflict, match="under fence 2, not 1"):
            call()


def test_a_tuner_that_is_stopped_does_not_wait(bench):
    bench.stop.set()
    with pytest.raises(Stopped):
        bench.queue.collect(60.0)
    with pytest.raises(Stopped):
        bench.queue.cancelled()
