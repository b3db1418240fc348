"""What every tuning log does, whether it keeps its entries in memory or in a database."""

import hashlib
from dataclasses import replace

import pytest

from tuner.errors import Conflict, NotFound
from tuner.log import (
    LoggedWorkload,
    RecordFilter,
    SavedModel,
    schedule_id,
    steps_key,
)
from tuner.record import BestSchedule, Measurement, Outcome, Purpose, Record, Setup, Timed, Timing

W = LoggedWorkload(
    hash="w1:a", text="def program(): ...", names={"l0": "i"}, op="matmul",
    sizes={"m": 4, "activation": "relu"}, flops=1 << 40, io_bytes=1 << 33,
)  # fmt: skip
EVERYTHING = RecordFilter()
HERE = Setup("f1:x", "g1:x", "gcc 1")


def steps(factor):
    return {"version": 1, "steps": [{"step": "split", "loop": "l0", "factor": factor}]}


def record(id, factor=2, **changes):
    base = Record(
        id=id, workload="w1:a", target="cpu-avx2-1t", fingerprint="f1:x", steps=steps(factor),
        purpose=Purpose.SEARCH, job="j", worker="w", number=3,
        measurement=Measurement(
            outcome=Outcome.OK, samples_s=(1e-3, 2e-3), calls_per_sample=4, median_s=1.5e-3,
            error_ratio=0.25, generator="g1:x", compiler="gcc 1", timing=Timing(incumbent_s=0.5),
        ),
    )  # fmt: skip
    return replace(base, **changes)


def failed(outcome, **changes):
    fields = {"generator": "g1:x", "compiler": "gcc 1", **changes}
    return Measurement(outcome=outcome, detail="it did", **fields)


def best(factor, median, fingerprint="f1:x", **changes):
    base = BestSchedule(
        id=schedule_id("w1:a", "cpu-avx2-1t", fingerprint, steps(factor)), workload="w1:a",
        target="cpu-avx2-1t", fingerprint=fingerprint, steps=steps(factor), record="r",
        median_s=median, ci_s=(0.5, 1.5), source_sha256="0" * 64, gflops=2.0, gbytes_per_s=3.0,
        peak_share=0.5, verified=True, ties=("s1:other",),
    )  # fmt: skip
    return replace(base, **changes)


def test_a_workload_comes_back_and_the_first_entry_stays(log):
    log.add_workload(W)
    log.add_workload(replace(W, names={"l0": "another"}, op=None))
    assert log.workload("w1:a") == W


def test_an_unknown_workload_is_not_found(log):
    with pytest.raises(NotFound, match="no workload 'w1:b'"):
        log.workload("w1:b")


def test_records_come_back_whole_and_in_order(log):
    log.add_workload(W)
    assert log.append([record("b"), record("a", 4)]) == 2
    found = log.records(EVERYTHING)
    assert [r.sequence for r in found] == [1, 2]
    assert all(r.created_at.endswith("+00:00") for r in found)
    assert [replace(r, sequence=0, created_at="") for r in found] == [record("b"), record("a", 4)]


def test_a_record_is_kept_once(log):
    log.add_workload(W)
    log.append([record("a")])
    assert log.append([record("a"), record("b"), record("b")]) == 1
    assert [r.id for r in log.records(EVERYTHING)] == ["a", "b"]


def test_a_record_that_tells_another_story_is_refused_and_nothing_of_its_batch_is_kept(log):
    log.add_workload(W)
    log.append([record("a")])
    with pytest.raises(Conflict, match="record 'a' is in the log with another content"):
        log.append([record("b"), record("a", 8)])
    assert [r.id for r in log.records(EVERYTHING)] == ["a"]


def test_a_record_of_an_unknown_workload_is_refused(log):
    with pytest.raises(NotFound, match="record 'a': no workload 'w1:a'"):
        log.append([record("a")])
    assert log.records(EVERYTHING) == []


def test_workloads_are_added_with_their_records_or_not_at_all(log):
    assert log.append([record("a")], [W, replace(W, op=None)]) == 1
    assert log.workload("w1:a") == W
    other = replace(W, hash="w1:b")
    with pytest.raises(NotFound, match="record 'c': no workload 'w1:c'"):
        log.append([record("b", workload="w1:b"), record("c", workload="w1:c")], [other])
    with pytest.raises(NotFound, match="no workload 'w1:b'"):
        log.workload("w1:b")
    assert [r.id for r in log.records(EVERYTHING)] == ["a"]


def test_a_record_keeps_the_moment_that_it_comes_with(log):
    moment = "2026-03-01T12:00:00.123457+00:00"
    log.append([record("a", created_at=moment)], [W])
    (found,) = log.records(EVERYTHING)
    assert found.created_at == moment


def test_the_records_of_a_job_come_in_the_order_in_which_it_asked(log):
    log.append([record("c", number=3), record("x", job="other"), record("a", number=1)], [W])
    log.append([record("b", number=2), record("d", number=3)])
    assert [r.id for r in log.issued("j")] == ["a", "b", "c", "d"]
    assert [r.id for r in log.issued("j", skip=1, limit=2)] == ["b", "c"]
    assert log.issued("none") == []


def test_sequences_go_on_after_a_refusal(log):
    log.add_workload(W)
    log.append([record("a")])
    with pytest.raises(NotFound):
        log.append([record("b"), record("c", workload="w1:none")])
    log.append([record("d")])
    first, second = log.records(EVERYTHING)
    assert first.sequence < second.sequence


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (RecordFilter(), ["a", "b", "c"]),
        (RecordFilter(workload="w1:b"), ["c"]),
        (RecordFilter(target="cpu-sse2-1t"), ["b"]),
        (RecordFilter(fingerprint="f1:y"), ["c"]),
        (RecordFilter(job="j"), ["a", "b"]),
        (RecordFilter(purpose=Purpose.PLAYOFF), ["b"]),
        (RecordFilter(outcome=Outcome.CRASH), ["c"]),
        (RecordFilter(job="j", purpose=Purpose.SEARCH), ["a"]),
        (RecordFilter(job="none"), []),
        (RecordFilter(ids=frozenset({"c", "a", "none"})), ["a", "c"]),
        (RecordFilter(setup=HERE), ["a", "b"]),
        (RecordFilter(setup=replace(HERE, generator="g1:y")), []),
        (RecordFilter(setup=replace(HERE, compiler="gcc 2")), []),
    ],
)
def test_records_are_filtered(log, where, expected):
    log.add_workload(W)
    log.add_workload(replace(W, hash="w1:b"))
    log.append(
        [
            record("a"),
            record("b", target="cpu-sse2-1t", purpose=Purpose.PLAYOFF),
            record("c", workload="w1:b", fingerprint="f1:y", job=None,
                   measurement=failed(Outcome.CRASH)),
        ]
    )  # fmt: skip
    assert [r.id for r in log.records(where)] == expected


def test_records_are_paged_by_their_sequence(log):
    log.add_workload(W)
    log.append([record(id) for id in "abcde"])
    first = log.records(EVERYTHING, limit=2)
    rest = log.records(EVERYTHING, after=first[-1].sequence)
    assert [r.id for r in first] == ["a", "b"]
    assert [r.id for r in rest] == ["c", "d", "e"]


def test_measured_names_what_had_its_search_trial_on_this_setup(log):
    log.add_workload(W)
    log.append(
        [
            record("a", 2),
            record("b", 4, measurement=failed(Outcome.WRONG_RESULT)),
            record("c", 8, measurement=failed(Outcome.CANCELLED)),
            record("d", 16, purpose=Purpose.PLAYOFF),
            record("e", 32, fingerprint="f1:y"),
            record("f", 64, measurement=failed(Outcome.WORKER_LOST, generator="g1:old")),
            record("g", 128, measurement=failed(Outcome.REFUSED, compiler="")),
            record("h", 256, measurement=failed(Outcome.CRASH, compiler="gcc 2")),
        ]
    )
    expected = {steps_key(steps(factor)) for factor in (2, 4, 128)}
    assert log.measured("w1:a", "cpu-avx2-1t", HERE) == expected
    assert log.measured("w1:a", "cpu-avx2-1t", replace(HERE, fingerprint="f1:z")) == frozenset()


def test_the_order_of_keys_does_not_make_another_schedule():
    assert steps_key({"version": 1, "steps": []}) == steps_key({"steps": [], "version": 1})
    assert steps_key(steps(2)) != steps_key(steps(4))


def test_the_best_come_fastest_first(log):
    log.add_workload(W)
    log.set_best([best(2, 3.0), best(4, 1.0), best(8, 2.0)])
    assert log.best("w1:a", "cpu-avx2-1t") == [best(4, 1.0)]
    assert log.best("w1:a", "cpu-avx2-1t", k=9) == [best(4, 1.0), best(8, 2.0), best(2, 3.0)]
    assert log.best("w1:a", "cpu-sse2-1t") == []


def test_a_schedule_set_again_replaces_its_older_self(log):
    log.add_workload(W)
    log.set_best([best(2, 3.0), best(4, 1.0)])
    log.set_best([best(4, 5.0, ci_s=None, ties=())])
    assert log.best("w1:a", "cpu-avx2-1t", k=9) == [best(2, 3.0), best(4, 5.0, ci_s=None, ties=())]


def test_times_of_two_machines_are_not_compared(log):
    log.add_workload(W)
    log.set_best([best(2, 1.0)])
    log.set_best([best(2, 9.0, "f1:y")])
    (last,) = log.best("w1:a", "cpu-avx2-1t", k=9)
    assert last.fingerprint == "f1:y"
    assert log.best("w1:a", "cpu-avx2-1t", k=9, fingerprint="f1:x") == [best(2, 1.0)]
    log.set_best([best(2, 1.0)])
    assert log.best("w1:a", "cpu-avx2-1t", k=9) == [best(2, 1.0)]


def test_a_schedule_is_found_by_its_id(log):
    log.add_workload(W)
    log.set_best([best(2, 1.0)])
    assert log.schedule(best(2, 1.0).id) == best(2, 1.0)
    with pytest.raises(NotFound, match="no schedule 's1:none'"):
        log.schedule("s1:none")


def test_a_source_is_kept_by_its_digest(log):
    text = "int f(void) { return 0; } /* é */\n"
    digest = hashlib.sha256(text.encode()).hexdigest()
    log.add_source(digest, text)
    log.add_source(digest, text)
    assert log.source(digest) == text


def test_a_source_under_a_foreign_digest_is_refused(log):
    with pytest.raises(Conflict, match="was to be kept as 1111"):
        log.add_source("1" * 64, "int f(void);")
    with pytest.raises(NotFound, match="no source '1111"):
        log.source("1" * 64)


def test_the_last_model_of_a_target_is_kept(log):
    assert log.model("cpu-avx2-1t") is None
    old = SavedModel(target="cpu-avx2-1t", data=b"{}", features="v1", extent=3)
    new = replace(old, data=b"\x00\xff", features="v2", extent=5)
    log.save_model(old)
    log.save_model(new)
    log.save_model(replace(old, target="cpu-sse2-1t"))
    assert log.model("cpu-avx2-1t") == new


def test_search_trials_that_passed_at_a_glance(log):
    log.add_workload(W)
    slow = replace(record("b").measurement, median_s=3.0, generator="g1:1", compiler="gcc 12")
    log.append([
        record("a"), record("b", 3, measurement=slow),
        record("c", 4, measurement=failed(Outcome.CRASH)), record("d", 5, target="cpu-sse2-1t"),
        record("e", 6, purpose=Purpose.PLAYOFF),
    ])  # fmt: skip
    assert log.timed("cpu-avx2-1t") == [
        Timed("a", 1, "w1:a", Setup("f1:x", "g1:x", "gcc 1"), 1.5e-3),
        Timed("b", 2, "w1:a", Setup("f1:x", "g1:1", "gcc 12"), 3.0),
    ]
    assert log.timed("cpu-neon-1t") == []
    assert log.targets() == {"cpu-avx2-1t", "cpu-sse2-1t"}
