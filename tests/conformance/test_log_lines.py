"""A log as JSON lines, out of and into every kind of log."""

import json
import re
from dataclasses import asdict, replace

import pytest

from tests.tune.fake_bench import FakeBench, by_hash
from tests.tune.jobs import AVX512, MATMUL, SMALL, SMALL_POINTS, SOFTMAX, Silence, job, run
from tuner.log import MemoryLog, RecordFilter
from tuner.log_import import BATCH_LINES, MAX_LINE_BYTES, Imported, LineSplitter, LogImport
from tuner.log_lines import canonical_lines, lines, record_line
from tuner.record import Measurement, Outcome, Purpose, Setup
from tuner.tune.loop import tune


def exported(log, where=RecordFilter()):  # noqa: B008 - frozen
    return [line for page in lines(log, where) for line in page]


def imported(log, found):
    """What came of these lines, in one piece."""
    splitter, taking = LineSplitter(), LogImport(log)
    for batch in (*splitter.feed("".join(f"{x}\n" for x in found).encode()), *splitter.end()):
        taking.take(batch)
    return taking.came


def measure(steps):
    """Some crash."""
    found = replace(by_hash(steps), samples_s=(1e-3, 2e-3))
    failed = Measurement(outcome=Outcome.CRASH, detail="SIGSEGV é", build_s=0.25)
    return failed if found.source_sha256 < "3" else found


@pytest.fixture(scope="module")
def tuned():
    """A log with two jobs, one of them on two workloads; some trials failed."""

    bench = FakeBench([MATMUL, SMALL], measure=measure)
    run(bench, MATMUL, SMALL, trials=20)
    later = FakeBench([MATMUL], log=bench.log, job="later", measure=measure)
    asked = replace(job(MATMUL, trials=12), id="later", more=True)
    tune(asked, later.log, later, Silence(), later.clock)
    return bench.log


def test_what_is_exported_and_imported_is_the_same_again(log, tuned):
    first = exported(tuned)
    came = imported(log, first)
    records = tuned.records(RecordFilter())
    assert came == Imported(lines=len(records) + 2, workloads_added=2, records_added=len(records))
    assert exported(log) == first
    assert [replace(r, sequence=0) for r in log.records(RecordFilter())] == [
        replace(r, sequence=0) for r in records
    ]
    assert log.workload(MATMUL.hash) == tuned.workload(MATMUL.hash)


def test_importing_again_adds_nothing_and_says_so(log, tuned):
    found = exported(tuned)
    imported(log, found)
    again = imported(log, found)
    assert (again.records_added, again.workloads_added, again.lines_refused) == (0, 0, 0)
    assert (again.records_known, again.workloads_known) == (len(found) - 2, 2)
    assert exported(log) == found


def test_what_is_asked_for_is_exported_with_its_workloads(log, tuned):
    imported(log, exported(tuned))
    found = [json.loads(line) for line in exported(log, RecordFilter(workload=SMALL.hash))]
    assert (found[0]["kind"], found[0]["hash"]) == ("workload", SMALL.hash)
    assert {line["kind"] for line in found[1:]} == {"record"}
    assert {line["workload"] for line in found[1:]} == {SMALL.hash}
    assert exported(log, RecordFilter(job="none")) == []


def change(line, **fields):
    return json.dumps({**json.loads(line), **fields})


def without(line, name):
    data = json.loads(line)
    del data[name]
    return json.dumps(data)


def measured(line, **fields):
    data = json.loads(line)
    return json.dumps({**data, "measurement": {**data["measurement"], **fields}})


BAD = {
    "no json": (lambda w, r: "{", "not a line of JSON"),
    "a list": (lambda w, r: "[]", "expected an object"),
    "deep": (lambda w, r: "[" * 100_000, "not a line of JSON"),
    "NaN": (lambda w, r: r.replace('"number":', '"x":NaN,"number":'), "NaN is no number"),
    "not UTF-8": (lambda w, r: "\udcff", "not a line of JSON"),
    "newer": (lambda w, r: change(r, v=2), "version 2, this version of Tilewright reads 1"),
    "no version": (lambda w, r: without(r, "v"), "version None"),
    "kind": (lambda w, r: change(r, kind="best"), "kind 'best', expected workload or record"),
    "missing": (lambda w, r: without(r, "steps"), "record: .*steps"),
    "more": (lambda w, r: change(r, mood="good"), "record: .*mood"),
    "no id": (lambda w, r: change(r, id=""), "record: id: expected 1 to 255 printable"),
    "surrogate": (lambda w, r: change(r, id="x\ud800"), "record: id: expected"),
    "purpose": (lambda w, r: change(r, purpose="fun"), "record: 'fun' is not a valid Purpose"),
    "steps": (lambda w, r: change(r, steps={}), "steps: expected the JSON form"),
    "number": (lambda w, r: change(r, number=-1), "number -1, expected a position"),
    "moment": (lambda w, r: change(r, created_at="2026-01-01"), "has no time zone"),
    "zero": (lambda w, r: measured(r, median_s=0.0), "must be positive and finite"),
    "no samples": (lambda w, r: measured(r, outcome="ok", samples_s=[]), "an ok needs samples_s"),
    "outcome": (lambda w, r: measured(r, outcome="good"), "'good' is not a valid Outcome"),
    "stranger": (lambda w, r: change(r, id="n", workload="w1:none"), "'w1:none' is unknown"),
    "conflict": (lambda w, r: change(r, number=999), "in the log with another content"),
    "hash": (lambda w, r: change(w, hash="w1:wrong"), "'w1:wrong' is w1:.* to this version"),
    "text": (lambda w, r: change(w, hash="w1:x", text="import os"), "only one `def` may stand"),
    "long": (lambda w, r: "x" * (MAX_LINE_BYTES + 1), "longer than 1048576 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_line_is_told_with_its_number_and_the_others_are_taken_in(tuned, kind):
    log = MemoryLog()
    make, reason = BAD[kind]
    workload, *records = exported(tuned, RecordFilter(workload=MATMUL.hash))
    passed = next(r for r in records if json.loads(r)["measurement"]["outcome"] == "ok")
    bad = make(workload, passed)
    splitter, taking = LineSplitter(), LogImport(log)
    whole = "\n".join((workload, passed, bad, "", *records))
    data = whole.encode("utf-8", "surrogateescape")
    for batch in (*splitter.feed(data), *splitter.end()):
        taking.take(batch)
    came = taking.came
    assert [refused.line for refused in came.refused] == [3]
    assert came.lines_refused == 1
    assert (came.lines, came.records_added) == (len(records) + 4, len(records))
    assert re.search(reason, came.refused[0].reason)


def test_a_batch_that_fails_leaves_nothing(log, tuned, monkeypatch):
    found = exported(tuned)
    append = type(log).append
    calls = []

    def failing(self, records, workloads=()):
        calls.append(len(records))
        if len(calls) == 2:
            return append(self, [*records, replace(records[0], workload="w1:none", id="no")])
        return append(self, records, workloads)

    monkeypatch.setattr(type(log), "append", failing)
    taking = LogImport(log)
    numbered = [(n, line.encode()) for n, line in enumerate(found, 1)]
    taking.take(numbered[:9])
    with pytest.raises(Exception, match="no workload 'w1:none'"):
        taking.take(numbered[9:])
    assert exported(log) == found[:9]
    assert taking.came.lines == 9


def test_batches_do_not_depend_on_how_the_bytes_come(tuned):
    data = "\n".join(exported(tuned) * 20).encode()
    whole, pieces = LineSplitter(), LineSplitter()
    at_once = [*whole.feed(data), *whole.end()]
    one_by_one = [b for n in range(0, len(data), 777) for b in pieces.feed(data[n : n + 777])]
    one_by_one += pieces.end()
    assert at_once == one_by_one
    assert [len(batch) for batch in at_once[:-1]] == [BATCH_LINES] * (len(at_once) - 1)
    assert [n for batch in at_once for n, _ in batch] == list(range(1, data.count(b"\n") + 2))


def test_two_runs_of_one_job_have_the_same_canonical_export(log):
    texts = []
    for name in ("once", "again"):
        bench = FakeBench([MATMUL, SOFTMAX], job=name, measure=measure)
        bench.rng.bit_generator.advance(len(texts))
        asked = replace(job(MATMUL, SOFTMAX, trials=40, seed=3), id=name)
        tune(asked, bench.log, bench, Silence(), bench.clock)
        imported(log, exported(bench.log))
        texts.append([line for page in canonical_lines(log, name) for line in page])
    assert texts[0] == texts[1]
    numbers = [json.loads(line)["number"] for line in texts[0]]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 40


def test_records_of_another_machine_only_teach(tuned):
    elsewhere = Setup("f1:elsewhere", "g1:x", "cc 9")
    log = MemoryLog()
    found = []
    for record in tuned.records(RecordFilter(workload=MATMUL.hash)):
        measurement = replace(record.measurement, generator="g1:x", compiler="cc 9")
        moved = replace(record, fingerprint=elsewhere.fingerprint, measurement=measurement)
        found.append(record_line(moved))
    workload = exported(tuned, RecordFilter(workload=MATMUL.hash))[0]
    assert imported(log, [workload, *found]).records_added == len(found)
    assert log.best(MATMUL.hash, AVX512.name) == []
    bench = FakeBench([MATMUL], log=log, job="new")
    (ended,) = tune(replace(job(MATMUL), id="new"), log, bench, Silence(), bench.clock)
    assert ended.done == 36
    assert ended.best.fingerprint != elsewhere.fingerprint
    assert bench.searched()[0].timing.incumbent_s is None
    assert bench.log.model(AVX512.name).extent > len(found)


def test_trials_of_this_machine_are_not_measured_again(tuned):
    log = MemoryLog()
    imported(log, exported(tuned))
    where = RecordFilter(workload=SMALL.hash, purpose=Purpose.SEARCH)
    known = len(log.records(where))
    bench = FakeBench([SMALL], log=log, job="new")
    (ended,) = tune(replace(job(SMALL), id="new"), log, bench, Silence(), bench.clock)
    assert ended.done == SMALL_POINTS - known
    assert ended.best.record in {r.id for r in log.records(RecordFilter(job="new"))}
    assert asdict(ended.best)["verified"]
