"""Jobs that go on: after a crash, from the log, while results come."""

import pytest

from tests.tune.fake_bench import FakeBench
from tests.tune.jobs import MATMUL, run
from tuner.errors import Conflict
from tuner.log import RecordFilter, steps_key
from tuner.record import Purpose
from tuner.tune.job import State
from tuner.tune.scheduler import ROUND


def test_a_killed_loop_goes_on_where_it_was():
    bench = FakeBench([MATMUL])
    collect, rounds = bench.collect, iter(range(7))

    def dying(wait_s):
        if next(rounds, None) is None:
            raise Conflict("another tuner has the job")
        return collect(wait_s)

    bench.collect = dying
    with pytest.raises(Conflict):
        run(bench, MATMUL, trials=60)
    assert bench.queue
    measured = len(bench.known)
    bench.collect = collect
    (tuned,) = run(bench, MATMUL, trials=60)
    assert 0 < measured < 60
    assert (tuned.state, tuned.done) == (State.DONE, 60)
    keys = [steps_key(r.steps) for r in bench.log.records(RecordFilter(purpose=Purpose.SEARCH))]
    assert len(keys) == len(set(keys)) == 60


@pytest.mark.parametrize("call", range(4))
def test_results_may_come_while_a_loop_takes_up_its_job(call):
    """Whichever of its first looks at the log and the queue they come before."""
    bench = FakeBench([MATMUL])
    collect = bench.collect

    def dying(wait_s):
        raise Conflict("another tuner has the job")

    bench.collect = dying
    with pytest.raises(Conflict):
        run(bench, MATMUL, trials=3 * ROUND)
    bench.collect = collect
    looks = iter(range(4))

    def late(look):
        def looked(*args):
            if next(looks, None) == call:
                bench.again += collect(0.0)
            return look(*args)

        return looked

    bench.outstanding = late(bench.outstanding)
    bench.log.measured, bench.log.records = late(bench.log.measured), late(bench.log.records)
    (tuned,) = run(bench, MATMUL, trials=3 * ROUND)
    assert tuned.done == 3 * ROUND
    keys = [steps_key(r.steps) for r in bench.log.records(RecordFilter(purpose=Purpose.SEARCH))]
    assert len(keys) == len(set(keys)) == 3 * ROUND


def test_a_loop_killed_in_the_play_off_does_not_repeat_it():
    bench = FakeBench([MATMUL])
    run(bench, MATMUL, trials=12)
    before = len(bench.log.records(RecordFilter()))
    (tuned,) = run(bench, MATMUL, trials=12)
    assert len(bench.log.records(RecordFilter())) == before
    assert tuned.best.ci_s is not None
