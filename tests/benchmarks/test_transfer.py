"""The transfer benchmark: its workloads, its log file, and what it makes of scores."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from benchmarks import transfer_log, transfer_scores
from benchmarks.transfer_workloads import WORKLOADS
from tests.tune.fake_bench import FakeBench
from tests.tune.jobs import AVX512, MATMUL, SOFTMAX, run
from tuner.log import LoggedWorkload, RecordFilter
from tuner.model.cost import Examples

SECONDS = np.array([2.0, 1.0, 8.0, 1.1, 4.0])
TASK = transfer_scores.Task("t", "w1:t", Examples(np.zeros((5, 1)), SECONDS, ("g",) * 5))


def test_the_workloads_are_different_and_mixed():
    made = [asked.workload() for asked in WORKLOADS]
    assert len({w.hash for w in made}) == len({a.name for a in WORKLOADS}) == len(WORKLOADS)
    assert len({w.op for w in made}) >= 15


@pytest.fixture(scope="module")
def measured():
    bench = FakeBench([MATMUL, SOFTMAX])
    run(bench, MATMUL, SOFTMAX, trials=64)
    return bench.log


def test_a_log_is_read_as_it_was_written_but_for_a_line_cut_short(tmp_path, measured):
    records = measured.records(RecordFilter())
    known = LoggedWorkload(hash=MATMUL.hash, text=measured.workload(MATMUL.hash).text)
    lines = [json.dumps({"workload": asdict(known)})]
    lines += [json.dumps({"record": asdict(r)}) for r in records]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([*lines, lines[-1][:40]]))
    assert transfer_log.read(path) == ([known], records)
    assert transfer_log.read(tmp_path / "none.jsonl") == ([], [])


def test_each_workload_is_judged_by_a_model_of_the_others(measured):
    tasks = transfer_scores.tasks(measured, AVX512.name)
    assert sorted(t.workload for t in tasks) == sorted([MATMUL.hash, SOFTMAX.hash])
    assert [len(t.examples) for t in tasks] == [32, 32]
    rows = transfer_scores.left_out(tasks, seed=0)
    assert [row.task for row in rows] == tasks
    assert transfer_scores.means(rows)["workloads"] == 2
    same = transfer_scores.new_target(tasks, tasks, seed=0)
    np.testing.assert_array_equal(same[0].scores, rows[0].scores)


def test_trials_are_counted_until_one_is_good_enough():
    for scores, trials in ((-SECONDS, 1), (SECONDS, 4)):
        assert transfer_scores.row(TASK, scores).trials == trials
    assert transfer_scores.row(TASK, np.array([5.0, 0, 4, 3, 1])).trials == 3
