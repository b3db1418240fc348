"""`tilewright up` and the command line beside it."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.running import Running, running_up, until
from tilewright.demo import free_port
from tilewright.supervisor import tilewright


def run_command(service: Running, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line beside a service."""
    environment = {**os.environ, "TILEWRIGHT_DATA": str(service.data)}
    return subprocess.run(
        tilewright(*arguments), env=environment, capture_output=True, text=True, check=False
    )


def test_tune_finds_a_schedule_that_can_be_read(service: Running, tmp_path: Path) -> None:
    what = ("--op", "matmul", "--sizes", "m=32,n=48,k=16")
    tuned = run_command(service, "tune", *what, "--trials", "8", "--seconds", "100", "--json")
    assert tuned.returncode == 0, tuned.stderr
    job = json.loads(tuned.stdout)
    assert job["state"] == "done"
    assert job["trials"]["done"] <= 8
    best = json.loads(run_command(service, "best", *what, "--json").stdout)
    assert best == [job["workloads"][0]["best"]]
    shown = run_command(service, "show", best[0]["id"]).stdout
    assert "# as written" in shown
    assert shown.count("def ") == len(best[0]["steps"]["steps"]) + 1
    assert "int tw_" in run_command(service, "source", best[0]["id"]).stdout
    records = json.loads(run_command(service, "records", "--job", job["id"], "--json").stdout)
    assert {record["measurement"]["outcome"] for record in records} == {"ok"}


def test_a_refused_program_is_one_line_with_its_place(service: Running, tmp_path: Path) -> None:
    path = tmp_path / "f.py"
    path.write_text(
        "from tilewright import f32\n\n"
        "def f(x: f32[4], y: f32[4]):\n    for i in range(4):\n        y[i] = x[i + 1]\n"
    )
    refused = run_command(service, "tune", "--program", str(path))
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert refused.stderr.startswith("tilewright: line 5, column ")


def test_a_token_is_on_no_command_line(service: Running) -> None:
    secrets = [path.read_text().strip() for path in service.data.glob("*.token")]
    assert len(secrets) == 2
    for role in ("server", "tuner", "worker"):
        command = Path(f"/proc/{service.pid(role)}/cmdline").read_text()
        assert not any(secret in command for secret in secrets)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_up_stops_all_that_it_started(tmp_path: Path, number: signal.Signals) -> None:
    with running_up(tmp_path) as running:
        pids = [running.pid(role) for role in ("server", "tuner", "worker")]
        assert None not in pids
        running.process.send_signal(number)
        assert running.process.wait(60) == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
        assert not (tmp_path / "url").exists()


def test_up_killed_by_9_leaves_nothing_running(tmp_path: Path) -> None:
    with running_up(tmp_path) as running:
        pids = [running.pid(role) for role in ("server", "tuner", "worker")]
        running.process.kill()
        until(lambda: not any(_lives(pid) for pid in pids), "the roles are gone")


def test_a_second_up_says_who_is_there(service: Running) -> None:
    port = service.client.url.rpartition(":")[2]
    taken = run_command(service, "up", "--port", port, "--data", str(service.data))
    assert taken.returncode == 1
    assert taken.stderr.startswith(f"tilewright: cannot listen on 127.0.0.1:{port}: ")
    held = run_command(service, "up", "--port", str(free_port()), "--data", str(service.data))
    assert held.returncode == 1
    assert "another server (process" in held.stderr


def _lives(pid: int | None) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
