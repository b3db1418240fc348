import json
from pathlib import Path

import pytest

from tests.cli.service import HASH, Service, best, job, problem
from tilewright.cli import run


def _ok(service: Service, *arguments: str) -> None:
    assert run(arguments, service.transport) == 0


def test_best_by_operator_sends_its_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    service = Service({"POST /v1/schedules/best": {"items": [best()]}})
    _ok(service, "best", "--op", "dense", "--sizes", "m=4, n=5,k=6,activation=relu", "-k", "2")
    body = service.body()
    assert body["op"] == "dense"
    assert body["sizes"] == {"m": 4, "n": 5, "k": 6, "activation": "relu"}
    assert body["k"] == 2
    shown = capsys.readouterr().out
    assert shown == (
        "s-1 on cpu-avx2-1t\n  median 3.912 ms (95%: 3.88 … 3.95 ms), 68.6 GFLOP/s, 76% of peak\n"
    )


def test_constants_go_with_their_operator() -> None:
    service = Service({"POST /v1/schedules/best": {"items": [best()]}})
    _ok(service, "best", "--op", "matmul", "--sizes", "m=4,n=5,k=6", "--constants", "b, a")
    assert service.body()["constants"] == ["b", "a"]
    refused = ("best", "--program", __file__, "--constants", "b")
    assert run(refused, service.transport) != 0


def test_what_is_packed_ahead_is_told_with_its_cost(capsys: pytest.CaptureFixture[str]) -> None:
    packed = best(prepare_s=0.0031, prepared_bytes=9_437_247)
    service = Service({"GET /v1/schedules/best": {"items": [packed]}})
    _ok(service, "best", "--workload", HASH)
    told = "76% of peak; constants are packed ahead once: 3.1 ms, 9.44 MB\n"
    assert capsys.readouterr().out.endswith(told)


def test_best_by_hash_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    service = Service({"GET /v1/schedules/best": {"items": [best()]}})
    _ok(service, "best", "--workload", HASH, "--json")
    assert json.loads(capsys.readouterr().out) == [best()]
    assert service.requests[0].url.params["workload"] == HASH


def test_best_of_an_untuned_workload_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    service = Service({"GET /v1/schedules/best": {"items": []}})
    assert run(["best", "--workload", HASH], service.transport) == 1
    assert "tilewright tune" in capsys.readouterr().err


def test_jobs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    service = Service({"GET /v1/jobs": {"items": [job()]}})
    _ok(service, "jobs", "list", "--state", "done")
    shown = capsys.readouterr().out
    assert "j-1" in shown
    assert "matmul m=4 n=4 k=4" in shown
    assert service.requests[0].url.params["state"] == "done"


def test_a_job_is_shown_with_its_failures(capsys: pytest.CaptureFixture[str]) -> None:
    _ok(Service({"GET /v1/jobs/j-1": job()}), "jobs", "show", "j-1")
    shown = capsys.readouterr().out
    assert "job j-1: done on cpu-avx2-1t" in shown
    assert "1 compile_error" in shown
    assert shown.endswith(
        "time spent: waiting 8.0 s, timing 6.5 s, search 1.2 s; workers idle 4%\n"
    )


def test_what_is_simulated_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    simulated = {"target": "sim-zen4-1t"}
    _ok(Service({"GET /v1/jobs/j-1": job() | simulated}), "jobs", "show", "j-1")
    assert "done on sim-zen4-1t (simulated)" in capsys.readouterr().out
    found = {"items": [best() | simulated]}
    _ok(Service({"GET /v1/schedules/best": found}), "best", "--workload", HASH)
    assert "on sim-zen4-1t (simulated)\n" in capsys.readouterr().out


def test_a_job_is_cancelled(capsys: pytest.CaptureFixture[str]) -> None:
    _ok(Service({"POST /v1/jobs/j-1/cancel": job("cancelled")}), "jobs", "cancel", "j-1")
    assert capsys.readouterr().out == "job j-1: cancelled\n"


def test_source_is_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    service = Service({"GET /v1/schedules/s-1/source": "int f(void);\n"})
    _ok(service, "source", "s-1")
    assert capsys.readouterr().out == "int f(void);\n"
    _ok(service, "source", "s-1", "-o", str(tmp_path / "f.c"))
    assert (tmp_path / "f.c").read_text() == "int f(void);\n"


def test_a_program_is_shown_after_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    stages = [
        {"step": "", "program": "def f(): ...\n"},
        {"step": "unroll(loop='l0')", "program": "def g(): ...\n"},
    ]
    answer = {"names": {"l0": "i", "b0": "x"}, "stages": stages}
    _ok(Service({"GET /v1/schedules/s-1/program": answer}), "show", "s-1")
    assert capsys.readouterr().out == (
        "# l0 is i, b0 is x\n\n# as written\ndef f(): ...\n\n# unroll(loop='l0')\ndef g(): ...\n"
    )


def test_records_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    measurement = {"outcome": "crash", "median_s": None, "detail": "signal 11\nmore"}
    record = {
        "sequence": 7, "workload": HASH, "target": "sim-a100", "purpose": "search",
        "measurement": measurement,
    }  # fmt: skip
    service = Service({"GET /v1/records": {"items": [record], "next": None}})
    _ok(service, "records", "--job", "j-1", "--limit", "5")
    last = capsys.readouterr().out.splitlines()[-1].split()
    assert last == ["7", HASH, "sim-a100", "(simulated)", "search", "crash", "signal", "11"]
    assert dict(service.requests[0].url.params) == {"job": "j-1", "limit": "5"}


def test_an_error_is_one_line_and_a_status(capsys: pytest.CaptureFixture[str]) -> None:
    service = Service({"GET /v1/jobs/x": problem(404, "no job x")})
    assert run(["jobs", "show", "x"], service.transport) == 1
    assert capsys.readouterr().err == "tilewright: no job x\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tune"], "give either --op with --sizes, or --program FILE"),
        (["tune", "--op", "matmul", "--program", "f.py"], "give either --op"),
        (["tune", "--op", "matmul", "--sizes", "m"], "expected NAME=NUMBER, found 'm'"),
        (["tune", "--op", "matmul", "--sizes", "m=1,m=2"], "m is given twice"),
        (["tune", "--program", "nowhere.py"], "cannot read nowhere.py: No such file"),
        (["best", "--op", "matmul", "--workload", HASH], "give one of --workload, --op"),
        (["tune", "--trials", "many"], "Invalid value for '--trials'"),
        (["frobnicate"], "No such command 'frobnicate'"),
    ],
)
def test_wrong_use_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments, Service({}).transport) != 0
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
