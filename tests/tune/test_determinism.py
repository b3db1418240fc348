"""One seed, one budget in trials, one starting log: one search, whoever measures how fast."""

from dataclasses import replace

import numpy as np
import pytest

from tests.tune.fake_bench import FakeBench, by_hash, failing
from tests.tune.jobs import MATMUL, SOFTMAX, Silence, job, run
from tuner.log import RecordFilter
from tuner.record import Purpose
from tuner.tune.loop import tune
from tuner.tune.scheduler import ROUND

TRIALS = 6 * ROUND


def one_in_nine_fails(steps):
    found = by_hash(steps)
    return failing(steps) if found.source_sha256[0] < "2" else found


class Fleet(FakeBench):
    """Workers that take candidates in order, each as long as chance will have it: results of the
    second round in flight come before some of the first."""

    def __init__(self, workers, seed, **others):
        super().__init__([MATMUL, SOFTMAX], measure=one_in_nine_fails, **others)
        self.workers, self.latency = workers, np.random.default_rng(seed)
        #: [seconds left, candidate]
        self.busy = []

    def outstanding(self):
        return [candidate for _, candidate in self.busy] + self.queue

    def collect(self, wait_s):
        while self.queue and len(self.busy) < self.workers:
            self.busy.append([float(self.latency.exponential()), self.queue.pop(0)])
        if not self.busy:
            return super().collect(wait_s)
        first = min(self.busy, key=lambda item: item[0])
        self.busy.remove(first)
        for item in self.busy:
            item[0] -= first[0]
        waiting, self.queue = self.queue, [first[1]]
        found = super().collect(wait_s)
        self.queue = waiting + self.queue
        return found


def story(bench):
    """All that was asked, in order, with what each candidate was told of the incumbent."""
    return [(c.id, c.steps, c.timing) for c in bench.searched()]


def run_both(bench, seed=5):
    return run(bench, MATMUL, SOFTMAX, trials=TRIALS, seed=seed, strategy="evolutionary",
               weights={SOFTMAX.hash: 2.0})  # fmt: skip


@pytest.fixture(scope="module")
def alone():
    """End, story and log of a job that one worker measured."""
    bench = Fleet(1, seed=0)
    return run_both(bench), story(bench), bench.log.records(RecordFilter())


@pytest.mark.parametrize("workers", [1, 4, 16])
def test_any_number_of_workers_tells_the_same_story(alone, workers):
    bench = Fleet(workers, seed=workers)
    tuned = run_both(bench)
    assert story(bench) == alone[1]
    assert tuned == alone[0]
    came = [r.id for r in bench.known.values()]
    # The results did come in another order than the candidates went out.
    assert (came == [c.id for r in bench.submitted for c in r]) == (workers == 1)


def test_another_seed_tells_another_story(alone):
    bench = Fleet(4, seed=4)
    run_both(bench, seed=6)
    assert {id for id, _, _ in story(bench)} != {id for id, _, _ in alone[1]}


def test_a_job_that_starts_from_a_log_is_as_determined(alone):
    later = []
    for workers in (1, 16):
        bench = Fleet(workers, seed=workers, job="later")
        bench.log.append(alone[2])
        wanted = job(MATMUL, SOFTMAX, trials=3 * ROUND, strategy="evolutionary")
        tune(replace(wanted, id="later"), bench.log, bench, Silence(), bench.clock)
        later.append(story(bench))
    assert later[0] == later[1]
    known = [r.steps for r in alone[2] if r.purpose is Purpose.SEARCH]
    assert not any(steps in known for _, steps, _ in later[0])
