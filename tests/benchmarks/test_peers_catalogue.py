"""The peers' workloads are what the service computes, and the command line names them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import found
from benchmarks.peers.__main__ import arguments
from benchmarks.peers.catalogue import WORKLOADS, PeerWorkload
from benchmarks.peers.setup import cpus
from tuner.frontends.catalogue import program_for
from tuner.frontends.text import parse
from tuner.ir.visit import outputs


@pytest.mark.parametrize("work", WORKLOADS.values(), ids=lambda work: work.name)
def test_shapes_are_those_of_the_program_that_is_submitted(work: PeerWorkload) -> None:
    if "program" in work.request:
        program = parse(work.request["program"])
    else:
        constants = work.request.get("constants", ())
        program = program_for(work.request["op"], work.request["sizes"], "f32", constants)
    written = outputs(program)
    inputs = [b for b in program.params if b.name not in written]
    assert tuple(at for at, b in enumerate(inputs) if b.const) == work.constants
    assert tuple(b.shape for b in program.params if b.name not in written) == work.inputs
    assert [b.shape for b in program.params if b.name in written] == [work.output]


def test_data_is_the_same_each_time_and_lies_on_cache_lines() -> None:
    first, again = (WORKLOADS["W6"].data() for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert all(array.ctypes.data % 64 == 0 for array in first)


def test_what_was_found_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    assert found.about(tmp_path, "tvm", "W1", 1) is None
    with found.storing(tmp_path, "tvm", "W1", 1) as made:
        found.write_about(made, {"trials": 1})
    with suppress(KeyboardInterrupt), found.storing(tmp_path, "tvm", "W1", 1) as made:
        found.write_about(made, {"trials": 2})
        raise KeyboardInterrupt
    told = found.about(tmp_path, "tvm", "W1", 1)
    assert told is not None
    assert told["trials"] == 1
    assert told["found_at"].startswith("20")
    assert [path.name for path in (tmp_path / "tvm").iterdir()] == ["W1-1t"]


def test_the_command_line_selects_workloads_threads_and_interpreters(tmp_path: Path) -> None:
    (tmp_path / "python").touch()
    given = arguments(
        ["--only", "W1,W11", "--threads", "1", "--python", f"torch={tmp_path}/python"]
    )
    assert (given.only, given.threads) == (["W1", "W11"], ["1"])
    assert dict(given.python) == {"torch": f"{tmp_path}/python"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "W14"], "unknown W14; there are: W1, W2"),
        (["--skip", "mkl"], "unknown mkl; there are: numpy"),
        (["--python", "torch=/no/python"], "expected PEER=INTERPRETER with an existing file"),
    ],
)
def test_what_is_not_there_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        arguments(words)
    assert said in capsys.readouterr().err


def test_more_threads_than_cores_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.peers.setup.measuring_cpus", lambda: (3, 2))
    assert cpus(1) == "3"
    assert cpus(2) == "3,2"
    with pytest.raises(SystemExit, match="3 threads need as many cores, this process may use 2"):
        cpus(3)
