"""Peers in their own processes: what they are asked, what they answer, how they are missed."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.numpys import Array
from benchmarks.peers.catalogue import WORKLOADS, PeerWorkload
from benchmarks.peers.child import Child, Timed, serve
from benchmarks.peers.engine import Engine, Ready, Unsupported, kept
from benchmarks.peers.interleaved import SAMPLES, TURNS, Field
from benchmarks.peers.process import PeerGone, PeerProcess, environment
from benchmarks.peers.setup import Setup
from tuner.record import Peaks
from workers.hostlock import HostLock

W4 = WORKLOADS["W4"]


def engine(off: float = 0.0) -> Engine:
    """A peer whose results are off by a factor, and which knows W4 only."""

    def prepare(work: PeerWorkload, inputs: list[Array]) -> Ready:
        if work is not W4:
            raise Unsupported(f"no {work.op}")
        return kept(lambda: work.numpy(*inputs) * np.float32(1 + off))

    return Engine("fake 1.0", prepare)


def answers(child: Child, *requests: dict[str, Any]) -> list[dict[str, Any]]:
    out = io.StringIO()
    serve(child, io.StringIO("".join(json.dumps(r) + "\n" for r in requests)), out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_workload_is_opened_checked_timed_and_closed() -> None:
    opened, timed, closed = answers(
        Child(engine()), {"do": "open", "workload": "W4"}, {"do": "time", "samples": 3},
        {"do": "close"},
    )  # fmt: skip
    assert opened == {"error": 0.0}
    assert len(timed["samples_s"]) == 3
    assert min(timed["samples_s"]) > 0
    assert closed == {}


def test_a_wrong_result_is_not_timed() -> None:
    (answer,) = answers(Child(engine(off=0.01)), {"do": "open", "workload": "W4"})
    assert answer["skipped"] == "wrong result: off by 1.0e-02 of the largest value"


def test_a_result_that_is_no_number_is_wrong() -> None:
    (answer,) = answers(Child(engine(off=float("nan"))), {"do": "open", "workload": "W4"})
    assert "wrong result" in answer["skipped"]


def test_what_a_peer_does_not_do_is_skipped_with_its_words() -> None:
    (answer,) = answers(Child(engine()), {"do": "open", "workload": "W16"})
    assert answer == {"skipped": "no transpose"}


def test_short_calls_are_grouped_into_samples() -> None:
    calls = []
    now = 0.0

    def call() -> None:
        nonlocal now
        now += 0.0005
        calls.append(now)

    timed = Timed(Ready(call, lambda: np.zeros(1)), lambda: now)
    before = len(calls)
    assert timed.samples(2) == pytest.approx([0.0005, 0.0005])
    assert len(calls) - before == 1 + 2 * 4


def test_the_threads_of_all_libraries_are_set_and_what_slows_numpy_is_not() -> None:
    found = environment(2, {"OPENBLAS_CORETYPE": "Haswell", "PATH": "/bin"})
    assert (found["OMP_NUM_THREADS"], found["OPENBLAS_NUM_THREADS"]) == ("2", "2")
    assert found["PATH"] == "/bin"
    assert "OPENBLAS_CORETYPE" not in found


def process(program: str, folder: Path) -> PeerProcess:
    return PeerProcess([sys.executable, "-c", program], 1, folder / "log")


HELLO = 'import sys; print(\'{"version": "fake 1.0"}\', flush=True);'


def test_a_process_says_hello_and_answers(tmp_path: Path) -> None:
    echo = HELLO + "[print(line, end='', flush=True) for line in sys.stdin]"
    with process(echo, tmp_path) as peer:
        assert peer.version == "fake 1.0"
        assert peer.ask(do="time", samples=2) == {"do": "time", "samples": 2}


def test_a_process_that_crashes_is_gone_with_its_last_words(tmp_path: Path) -> None:
    crash = HELLO + "sys.stdin.readline(); sys.exit('out of luck')"
    with process(crash, tmp_path) as peer, pytest.raises(PeerGone) as gone:
        peer.ask(do="close")
    assert str(gone.value) == "ended with status 1: out of luck"


def test_an_interpreter_that_is_not_there_is_gone_at_once(tmp_path: Path) -> None:
    with pytest.raises(PeerGone, match=r"cannot start .*: No such file"):
        PeerProcess([str(tmp_path / "python")], 1, tmp_path / "log")


def test_a_peer_that_cannot_be_imported_is_skipped_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(PeerGone, match=r"cannot be used: No module named '.*with_nothing'"):
        Setup({}, tmp_path).start("nothing", 1)


def test_numpy_is_a_peer(tmp_path: Path) -> None:
    with Setup({}, tmp_path).start("numpy", 1) as peer:
        assert peer.version == f"numpy {np.__version__}"
        assert peer.ask(do="open", workload="W4") == {"error": 0.0}
        assert len(peer.ask(do="time", samples=2)["samples_s"]) == 2


class FakePeer:
    """Needs as many seconds as it says; is gone after so many requests."""

    def __init__(self, spent_s: float, lives: int = 1000) -> None:
        self.version, self.spent_s, self.lives = "fake 1.0", spent_s, lives
        self.asked: list[str] = []
        self.closed = False

    def ask(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request["do"])
        if len(self.asked) > self.lives:
            raise PeerGone("ended with status -11")
        if request["do"] == "time":
            return {"samples_s": [self.spent_s] * request["samples"]}
        return {"error": 0.0} if request["do"] == "open" else {}

    def close(self) -> None:
        self.closed = True


def test_peers_are_timed_in_turn_and_the_better_limits_count(tmp_path: Path) -> None:
    peers = {"numpy": FakePeer(2.0), "tilewright": FakePeer(1.0)}
    limits = iter(
        [Peaks(flops_per_s=1.0, copy_bytes_per_s=4.0), Peaks(flops_per_s=2.0, copy_bytes_per_s=3.0)]
    )
    field = Field(tuple(peers), peers.__getitem__)
    row = field.measure(W4, 1, HostLock(tmp_path), lambda work: next(limits))
    assert row.ratio == 2.0
    assert row.limits == Peaks(flops_per_s=2.0, copy_bytes_per_s=4.0)
    assert row.times["numpy"].samples == TURNS * SAMPLES >= 20
    assert peers["numpy"].asked == ["open", *["time"] * TURNS, "close"]
    field.close()
    assert all(peer.closed for peer in peers.values())


def test_a_peer_that_ends_is_skipped_and_started_again_for_the_next(tmp_path: Path) -> None:
    started: list[FakePeer] = []

    def start(name: str) -> FakePeer:
        started.append(FakePeer(1.0, lives=3))
        return started[-1]

    field = Field(("tvm",), start)
    for _ in range(2):
        row = field.measure(
            W4, 1, HostLock(tmp_path), lambda work: Peaks(flops_per_s=1.0, copy_bytes_per_s=1.0)
        )
        assert row.skipped == {"tvm": "ended with status -11"}
        assert row.times == {}
    assert len(started) == 2
    assert started[0].closed


def test_a_peer_that_cannot_start_is_not_tried_again(tmp_path: Path) -> None:
    tries = []

    def start(name: str) -> FakePeer:
        tries.append(name)
        raise PeerGone("cannot be used: No module named 'torch'")

    field = Field(("torch",), start)
    for _ in range(2):
        ready, skipped = field.open(W4)
        assert (ready, skipped) == ({}, {"torch": "cannot be used: No module named 'torch'"})
    assert tries == ["torch"]
