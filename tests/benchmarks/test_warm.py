"""The warm benchmark: what a warm log has, and what is said of two searches."""

import json

import pytest

from benchmarks import warm
from benchmarks.search import Curve
from benchmarks.transfer_workloads import WORKLOADS
from tests.tune.fake_bench import FakeBench
from tests.tune.jobs import AVX512, MATMUL, SOFTMAX, run
from tuner.log import RecordFilter


@pytest.fixture(scope="module")
def records():
    bench = FakeBench([MATMUL, SOFTMAX])
    run(bench, MATMUL, SOFTMAX, trials=24)
    return bench.log, bench.log.records(RecordFilter())


def test_a_warm_log_knows_nothing_of_the_workload_in_question(records):
    log, found = records
    both = [log.workload(w.hash) for w in (MATMUL, SOFTMAX)]
    lines = list(warm.without(both, found, AVX512.name, SOFTMAX.hash))
    workload, *rest = map(json.loads, lines)
    assert (workload["kind"], workload["hash"]) == ("workload", MATMUL.hash)
    assert {(r["kind"], r["workload"]) for r in rest} == {("record", MATMUL.hash)}
    assert len(rest) == sum(r.workload == MATMUL.hash for r in found) > 0
    assert list(warm.without(both, found, "cpu-avx2-1t", SOFTMAX.hash)) == lines[:1]


def test_the_row_of_a_workload_is_relative_to_the_cold_winner():
    cold = warm.Ended(Curve([8.0] * 8 + [4.0] * 56, [float(n) for n in range(1, 65)]), "")
    lukewarm = warm.Ended(Curve([5.0] * 8, [float(n) for n in range(1, 9)]), "")
    assert warm.row("w", cold, lukewarm, [4e-6, 5e-6]) == [
        "w", "4.0", "5.0", "0.80", "0.50", "64", "8"
    ]  # fmt: skip


def test_the_workloads_held_out_are_there():
    assert set(warm.HELD_OUT) <= {asked.name for asked in WORKLOADS if asked.dtype == "f32"}
