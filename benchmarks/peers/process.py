"""This side of a peer's process: start it, ask it, and say why it is not there."""

from __future__ import annotations

import json
import os
import select
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.numpys import SLOWS_NUMPY

#: where `benchmarks` is found
ROOT = Path(__file__).resolve().parents[2]
#: each library's name for the number of its threads
THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TVM_NUM_THREADS",
    "HL_NUM_THREADS",
)  # fmt: skip
#: seconds that one answer may take: a compiler may be at work
ANSWER_S = 300.0


class PeerGone(Exception):
    """A peer cannot be started, ended, or does not answer; the text says why."""


def environment(threads: int, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What a peer's process runs with: so many threads, bound by its affinity alone."""
    kept = {k: v for k, v in base.items() if k not in SLOWS_NUMPY}
    own = {name: str(threads) for name in THREADS} | {"TVM_BIND_THREADS": "0"}
    return kept | own | {"PYTHONPATH": str(ROOT)}


class PeerProcess:
    """A running peer. Use as a context manager."""

    def __init__(self, command: Sequence[str], threads: int, log: Path) -> None:
        """Start it and hear its hello. Raises PeerGone."""
        self._log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with log.open("wb") as errors:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                    env=environment(threads), cwd=ROOT,
                )  # fmt: skip
        except OSError as error:
            raise PeerGone(f"cannot start {command[0]}: {error.strerror}") from error
        try:
            hello = self._answer()
        except PeerGone:
            self.close()
            raise
        if "skipped" in hello:
            self.close()
            raise PeerGone(hello["skipped"])
        self.version: str = hello["version"]

    def __enter__(self) -> PeerProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answer to a request (benchmarks.peers.child). Raises PeerGone."""
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended: the answer says why
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # what was written last was never read
                if pipe is not None:
                    pipe.close()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], ANSWER_S)
        if not ready:
            raise PeerGone(f"no answer within {ANSWER_S:g} s")
        line = self._process.stdout.readline()
        if not line:
            raise PeerGone(f"ended with status {self._process.wait()}{self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f": {said}" if said else ""
