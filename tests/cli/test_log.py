"""`tilewright log`: files out of the service and into it."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.cli.service import Service
from tilewright.cli import run

CAME = {
    "lines": 3, "workloads_added": 1, "workloads_known": 0, "records_added": 1, "records_known": 0,
    "lines_refused": 1, "refused": [{"line": 3, "reason": "not a line of JSON"}],
}  # fmt: skip


def test_an_export_is_written_as_it_comes(tmp_path: Path) -> None:
    service = Service({"GET /v1/records/export": "one\ntwo\n"})
    file = tmp_path / "log.jsonl"
    arguments = ("--job", "j-1", "--canonical", "--target", "cpu-avx2-1t")
    assert run(["log", "export", str(file), *arguments], service.transport) == 0
    assert file.read_text() == "one\ntwo\n"
    asked = dict(service.requests[0].url.params)
    assert asked == {"job": "j-1", "canonical": "true", "target": "cpu-avx2-1t"}


def test_an_export_to_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    service = Service({"GET /v1/records/export": "é\n"})
    assert run(["log", "export", "-"], service.transport) == 0
    assert capfdbinary.readouterr().out == "é\n".encode()


def test_an_import_tells_what_came_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service = Service({"POST /v1/records/import": CAME})
    file = tmp_path / "log.jsonl"
    file.write_bytes(b"x" * 200_000)
    assert run(["log", "import", str(file)], service.transport) == 1
    assert service.requests[0].content == b"x" * 200_000
    out = capsys.readouterr().out
    assert "3 lines: 1 records and 1 workloads were new" in out
    assert "line 3: not a line of JSON" in out


def test_an_import_without_refusals_succeeds(tmp_path: Path) -> None:
    service = Service({"POST /v1/records/import": CAME | {"lines_refused": 0, "refused": []}})
    (tmp_path / "log.jsonl").write_text("{}\n")
    assert run(["log", "import", str(tmp_path / "log.jsonl"), "--json"], service.transport) == 0


@pytest.mark.parametrize("command", ["export", "import"])
def test_a_file_that_cannot_be_opened(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service = Service({"GET /v1/records/export": "", "POST /v1/records/import": CAME})
    assert run(["log", command, str(tmp_path / "none" / "x")], service.transport) == 1
    assert "No such file or directory" in capsys.readouterr().err


def test_a_refused_export_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem = httpx.Response(422, json={"detail": "give job and nothing else"})
    service = Service({"GET /v1/records/export": problem})
    file = tmp_path / "log.jsonl"
    assert run(["log", "export", str(file), "--canonical"], service.transport) == 1
    assert "give job and nothing else" in capsys.readouterr().err
