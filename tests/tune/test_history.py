"""What a job learns from before its first round: fair shares, relatives, features once."""

from dataclasses import replace

import numpy as np
import pytest

from tests.tune.fake_bench import COMPILER, MACHINE, FakeBench, text_of
from tests.tune.jobs import AVX512, MATMUL, SOFTMAX, run, workload
from tuner.codegen.kernel import GENERATOR
from tuner.features.table import FEATURE_VERSION, FEATURES
from tuner.log import LoggedWorkload, MemoryLog
from tuner.model.cost import FeatureTable
from tuner.record import Measurement, Outcome, Purpose, Record, Setup, Timed
from tuner.schedule.steps import schedule_to_json
from tuner.space.build import space_of
from tuner.target import target
from tuner.tune import history as module
from tuner.tune.history import History, fair, relatives
from tuner.tune.job import State

HERE = Setup(MACHINE, GENERATOR, COMPILER)
OTHER = Setup("f1:other", GENERATOR, COMPILER)
AVX2 = target("cpu-avx2-1t")


def trials(workload, n, setup=HERE):
    return [Timed(f"{workload}/{i}", i + 1, workload, setup, 1.0 + i) for i in range(n)]


def counts(chosen):
    names, found = np.unique([t.workload for t in chosen], return_counts=True)
    return dict(zip(names, found.tolist(), strict=True))


def test_small_workloads_come_whole_and_large_ones_share_the_rest():
    chosen = fair([*trials("large", 500), *trials("small", 7), *trials("larger", 900)], 107)
    assert counts(chosen) == {"large": 50, "larger": 50, "small": 7}


def test_one_workload_on_two_machines_counts_twice():
    chosen = fair([*trials("a", 90), *trials("a", 90, OTHER), *trials("b", 90)], 60)
    assert counts(chosen) == {"a": 40, "b": 20}


def test_of_each_the_fastest_and_some_of_all_others():
    chosen = [t.seconds for t in fair(trials("a", 100), 20)]
    assert chosen[:10] == [1.0 + i for i in range(10)]
    assert (max(chosen), min(chosen[10:])) == (100.0, 11.0)
    assert len(set(chosen)) == 20


def test_all_are_taken_where_there_are_few():
    assert fair(trials("a", 5), 20) == trials("a", 5)
    assert fair([], 20) == []


def test_relatives_are_of_the_same_kind_and_the_nearest_comes_first():
    names = frozenset({"cpu-neon-1t", "cpu-avx512-1t", "cpu-avx512-8t", "opencl-pocl", "gone-1t",
                       "cpu-sse2-1t", "cpu-avx2-1t"})  # fmt: skip
    found = [one.name for one in relatives(AVX2, names)]
    assert found == ["cpu-sse2-1t", "cpu-avx512-1t", "cpu-neon-1t", "cpu-avx512-8t"]


def logged(log, work, hardware, n, setup=HERE, prefix=""):
    """Keeps `n` timed search trials of random points."""
    log.add_workload(LoggedWorkload(hash=work.hash, text=text_of(work)))
    space = space_of(work.program, hardware)
    points = space.sample(np.random.default_rng(3), n)
    log.append([
        Record(
            id=f"{prefix}{work.hash}/{hardware.name}/{i}", workload=work.hash,
            target=hardware.name, fingerprint=setup.fingerprint,
            steps=schedule_to_json(space.schedule(points, i)), purpose=Purpose.SEARCH,
            measurement=Measurement(
                outcome=Outcome.OK, median_s=1e-3 * (1 + i), generator=setup.generator,
                compiler=setup.compiler,
            ),
        )
        for i in range(n)
    ])  # fmt: skip
    return space, points


def test_examples_have_the_features_of_what_was_timed():
    log = MemoryLog()
    space, points = logged(log, MATMUL, AVX512, 30)
    past = History(log, AVX512, [], HERE)
    found = past.examples()
    assert past.extent == 30
    assert set(found.group) == {f"{MATMUL.hash}/{AVX512.name}/{MACHINE}/{GENERATOR}/cc 1"}
    order = np.argsort(found.seconds)
    table = FeatureTable(MATMUL.program, space, AVX512).of(points)
    np.testing.assert_array_equal(found.table[order], table)


def test_a_part_is_one_workload_and_all_parts_are_all():
    log = MemoryLog()
    for work, n in ((MATMUL, 10), (SOFTMAX, 20)):
        logged(log, work, AVX512, n)
    past, at_once = (History(log, AVX512, [], HERE) for _ in range(2))
    assert [past.load_some() for _ in range(3)] == [True, True, False]
    for found in (past.examples(), past.examples()):
        np.testing.assert_array_equal(found.table, at_once.examples().table)
        assert len(found) == 30


def test_own_workloads_are_left_out_on_this_setup_only():
    log = MemoryLog()
    logged(log, MATMUL, AVX512, 10)
    logged(log, SOFTMAX, AVX512, 10)
    logged(log, MATMUL, AVX512, 10, OTHER, "other/")
    groups = set(History(log, AVX512, [MATMUL.hash], HERE).examples().group)
    assert {g.split("/")[0] for g in groups if "f1:other" not in g} == {SOFTMAX.hash}
    assert {g.split("/")[0] for g in groups if "f1:other" in g} == {MATMUL.hash}


def test_a_new_target_starts_from_its_relatives(monkeypatch):
    log = MemoryLog()
    logged(log, MATMUL, AVX512, 20)
    logged(log, SOFTMAX, AVX2, 10)
    groups = History(log, AVX2, [MATMUL.hash], HERE).examples().group
    assert [g.split("/")[1] for g in groups] == [AVX2.name] * 10 + [AVX512.name] * 20
    monkeypatch.setattr(module, "MAX_TRIALS", 10)
    groups = History(log, AVX2, [MATMUL.hash], HERE).examples().group
    assert [g.split("/")[1] for g in groups] == [AVX2.name] * 10


def test_features_are_computed_once_in_a_process(monkeypatch):
    work = workload("matmul", m=40, n=40, k=24)
    log = MemoryLog()
    logged(log, work, AVX512, 12)
    first = History(log, AVX512, [], HERE).examples()

    def fail(*_):
        raise AssertionError("computed again")

    monkeypatch.setattr(module, "_computed", lambda text, hardware, new: fail() if new else {})
    again = History(log, AVX512, [], HERE).examples()
    np.testing.assert_array_equal(first.table, again.table)


def test_what_this_version_cannot_read_is_left_out():
    log = MemoryLog()
    log.add_workload(LoggedWorkload(hash="w1:old", text="def program(): nonsense"))
    logged(log, MATMUL, AVX512, 10)
    steps = {"version": 1, "steps": [{"step": "unroll", "loop": "l0"}]}
    timed = Measurement(outcome=Outcome.OK, median_s=1.0)
    log.append([
        Record(id=str(i), workload=hash, target=AVX512.name, fingerprint=MACHINE, steps=steps,
               purpose=Purpose.SEARCH, measurement=timed)
        for i, hash in enumerate(["w1:old", MATMUL.hash])
    ])  # fmt: skip
    found = History(log, AVX512, [], HERE).examples()
    assert len(found) == 10
    assert found.table.shape == (10, len(FEATURES))


@pytest.mark.parametrize("word", [FEATURE_VERSION.encode(), b"tilewright_extent"])
def test_a_saved_model_of_another_version_is_passed_over(word):
    bench = FakeBench([MATMUL])
    run(bench, MATMUL, trials=20)
    saved = bench.log.model(AVX512.name)
    later = FakeBench([SOFTMAX])
    later.log.save_model(replace(saved, data=saved.data.replace(word, b"older")))
    (tuned,) = run(later, SOFTMAX, trials=4)
    assert (tuned.state, tuned.done) == (State.DONE, 4)
