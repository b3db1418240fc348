import io
import json
from typing import Any

import httpx
import pytest
from rich.console import Console

from tests.cli.service import HASH, Service, job, problem
from tilewright import follow
from tilewright.cli import run
from tilewright.client import Event

EVENTS = (
    'id: 1\nevent: state\ndata: {"state": "running"}\n\n'
    f'id: 2\nevent: trial\ndata: {{"workload": "{HASH}", "outcome": "ok", "median_s": 0.005}}\n\n'
    "id: 3\nevent: done\ndata: {}\n\n"
)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "REFRESH_S", 0.0)


def _service(**answers: Any) -> Service:
    return Service(
        {
            "POST /v1/jobs": job("queued", done=0),
            "GET /v1/jobs/j-1": job(),
            "GET /v1/jobs/j-1/events": EVENTS,
        }
        | {name.replace("_", " ", 1): answer for name, answer in answers.items()}
    )


def test_tune_submits_follows_and_shows_where_to_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    service = _service()
    arguments = ["tune", "--op", "matmul", "--sizes", "m=4,n=4,k=4", "--trials", "8"]
    assert run([*arguments, "--target", "cpu-avx2-1t", "--seconds", "9"], service.transport) == 0
    assert service.body(0) == {
        "workloads": [{"op": "matmul", "sizes": {"m": 4, "n": 4, "k": 4}, "dtype": "f32"}],
        "target": "cpu-avx2-1t",
        "budget": {"trials": 8, "seconds": 9.0},
        "strategy": "evolutionary",
        "seed": 0,
        "more": False,
    }
    captured = capsys.readouterr()
    assert "3.912 ms" in captured.out
    assert "tilewright source s-1" in captured.out
    assert "job j-1 submitted" in captured.err


def test_tune_with_json_keeps_stdout_parseable(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tune", "--op", "matmul", "--json"], _service().transport) == 0
    assert json.loads(capsys.readouterr().out) == job()


def test_a_job_that_failed_is_a_non_zero_status(capsys: pytest.CaptureFixture[str]) -> None:
    service = _service()
    service.answers["GET /v1/jobs/j-1"] = job("failed", reason="no candidate was correct")
    assert run(["tune", "--op", "matmul"], service.transport) == 1
    assert "no candidate was correct" in capsys.readouterr().out


def test_a_refused_program_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    service = _service()
    service.answers["POST /v1/jobs"] = problem(422, "line 1, column 5: unknown name f33")
    assert run(["tune", "--op", "matmul"], service.transport) == 1
    assert capsys.readouterr().err == "tilewright: line 1, column 5: unknown name f33\n"


def test_interrupt_leaves_the_job_and_says_how_to_cancel(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupt(request: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    service = _service()
    service.answers["GET /v1/jobs/j-1/events"] = interrupt
    assert run(["tune", "--op", "matmul"], service.transport) == 130
    assert "tilewright jobs cancel j-1" in capsys.readouterr().err
    assert all("cancel" not in request.url.path for request in service.requests)


def test_a_stream_that_breaks_is_taken_up_where_it_was() -> None:
    service = _service()

    def broken(request: httpx.Request) -> httpx.Response:
        if request.headers["last-event-id"] == "0":
            service.answers["GET /v1/jobs/j-1"] = job("running", done=1)
            return httpx.Response(200, text="id: 5\nevent: round\ndata: {}\n\n")
        service.answers["GET /v1/jobs/j-1"] = job()
        return httpx.Response(200, text="")

    service.answers["GET /v1/jobs/j-1/events"] = broken
    assert run(["tune", "--op", "matmul", "--json"], service.transport) == 0
    resumed = [r.headers["last-event-id"] for r in service.requests if "events" in r.url.path]
    assert resumed == ["0", "5"]


def test_a_view_says_trials_best_and_time_left() -> None:
    now = [100.0]
    view = follow.JobView(job("running", done=0), clock=lambda: now[0])
    now[0] = 110.0
    view.update(job("running", done=2))
    for outcome, median_s in (("ok", 0.005), ("ok", 0.007), ("timeout", None)):
        view.take(Event(4, "trial", {"workload": HASH, "outcome": outcome, "median_s": median_s}))
    assert view.line() == "2/8 trials, 1 failed, 0:30 left"
    assert view.plain_line().endswith("best so far: matmul 5 ms")
    screen = io.StringIO()
    Console(file=screen, force_terminal=True, width=100, color_system=None).print(view)
    shown = screen.getvalue()
    assert "best 5 ms" in shown
    assert "0:30 left" in shown
