"""Where a job's seconds go."""

from dataclasses import replace

import pytest

from tests.tune.fake_bench import FakeBench
from tests.tune.jobs import MATMUL, job, run
from tuner.tune import learner
from tuner.tune.accounts import LOOP, WORKERS, Accounts
from tuner.tune.loop import tune


class Hand:
    """A clock that is turned by hand."""

    now = 5.0

    def __call__(self):
        return self.now

    def turn(self, seconds):
        self.now += seconds
        return seconds


class Spending:
    """Hears what was spent."""

    def __init__(self):
        self.heard = []

    def event(self, kind, data):
        if kind == "spent":
            self.heard.append(data["seconds"])


def test_what_is_booked_inside_counts_only_there():
    clock = Hand()
    accounts = Accounts(clock, {})
    clock.turn(100.0)
    with accounts.on("search"):
        clock.turn(1.0)
        with accounts.on("database"):
            clock.turn(2.0)
        clock.turn(4.0)
        assert accounts.seconds() == dict.fromkeys((*LOOP, *WORKERS), 0.0) | {
            "search": 5.0, "database": 2.0,
        }  # fmt: skip
    clock.turn(100.0)
    assert accounts.seconds()["search"] == 5.0


def test_an_error_closes_its_account():
    clock = Hand()
    accounts = Accounts(clock, {})
    with pytest.raises(KeyError), accounts.on("model"):
        raise KeyError
    clock.turn(1.0)
    assert accounts.seconds()["model"] == 0.0


def test_a_booked_thing_does_what_it_did():
    clock = Hand()
    accounts = Accounts(clock, {})
    hand = accounts.booked(clock, "search", turn="waiting")
    assert hand.turn(seconds=3.0) == 3.0
    assert accounts.seconds()["waiting"] == 3.0


def test_earlier_lives_count_in_the_loop_s_accounts():
    spent = Accounts(Hand(), {"search": 2.0, "timing": 9.0, "unknown": 1.0}).seconds()
    assert spent == dict.fromkeys((*LOOP, *WORKERS), 0.0) | {"search": 2.0}


def test_a_job_waits_as_long_as_its_bench_takes():
    heard = Spending()
    bench = FakeBench([MATMUL])
    run(bench, MATMUL, trials=36, progress=heard)
    last = heard.heard[-1]
    assert last["waiting"] == pytest.approx(bench.clock.now - 100.0)
    assert last["search"] == last["model"] == last["database"] == 0.0
    assert len(heard.heard) == 4


def test_each_kind_of_work_is_booked(monkeypatch):
    """The log, the queue and the fit take their time here."""
    bench, heard = FakeBench([MATMUL]), Spending()
    slow = {"log": 0.0, "fit": 0.0}
    append, fit = bench.log.records, learner.fit

    def records(*args, **others):
        slow["log"] += 1.0
        bench.clock.now += 1.0
        return append(*args, **others)

    def slow_fit(*args):
        slow["fit"] += 2.0
        bench.clock.now += 2.0
        return fit(*args)

    monkeypatch.setattr(learner, "fit", slow_fit)
    bench.tick_s = 0.0
    bench._record = lambda candidate: recorded(bench, candidate)
    bench.log.records = records
    run(bench, MATMUL, trials=36, progress=heard)
    assert heard.heard[-1]["model"] == slow["fit"] > 0
    assert heard.heard[-1]["database"] + heard.heard[-1]["waiting"] == slow["log"] > 0
    assert heard.heard[-1]["search"] == 0.0


def recorded(bench, candidate):
    """What the bench makes of a candidate, with a second of building, two of checking, three of
    timing."""
    record = FakeBench._record(bench, candidate)
    times = {"build_s": 1.0, "check_s": 2.0, "timing_s": 3.0}
    return replace(record, measurement=replace(record.measurement, **times))


def test_the_workers_seconds_are_those_of_all_the_job_s_trials():
    bench, heard = FakeBench([MATMUL]), Spending()
    bench._record = lambda candidate: recorded(bench, candidate)
    run(bench, MATMUL, trials=20, progress=heard)
    trials = len(bench.known)
    assert trials > 20
    assert [heard.heard[-1][name] for name in WORKERS] == [trials, 2.0 * trials, 3.0 * trials]
    again = Spending()
    wanted = job(MATMUL, trials=20, spent=heard.heard[-1])
    tune(wanted, bench.log, bench, again, bench.clock)
    assert again.heard[-1]["timing"] == 3.0 * trials
    assert again.heard[-1]["waiting"] >= heard.heard[-1]["waiting"]
