"""The peer's side: a process that prepares workloads and times them when it is told to.

    python -m benchmarks.peers.child ENGINE --cpus 1,0 --folder FOLDER

Uses a thread on each of the cores. Reads JSON lines on stdin and answers each on what was stdout
(what libraries print goes to stderr). The first line says hello:

    {"version": …}                                 or {"skipped": why}, and it ends
    {"do": "open", "workload": "W1"}            -> {"error": …} or {"skipped": why}
    {"do": "time", "samples": 5}                -> {"samples_s": [seconds for a call, …]}
    {"do": "close"}                             -> {}

"open" compares the result with numpy's: "error" is the largest difference over the largest value.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from benchmarks.peers.catalogue import WORKLOADS
from benchmarks.peers.engine import Engine, Ready, Unsupported

#: seconds that one sample takes at least
SAMPLE_S = 0.002
#: a larger difference is a wrong result
MOST_ERROR = 1e-4


class Timed:
    """One prepared workload."""

    def __init__(self, ready: Ready, clock: Callable[[], float] = time.perf_counter) -> None:
        self._call, self._clock = ready.call, clock
        self._call()
        spent = self._sample(1)
        self._calls = max(1, round(SAMPLE_S / spent)) if spent > 0 else 1

    def samples(self, count: int) -> list[float]:
        """Seconds for a call, `count` times, after one call that fills the caches."""
        self._call()
        return [self._sample(self._calls) / self._calls for _ in range(count)]

    def _sample(self, calls: int) -> float:
        call = self._call
        start = self._clock()
        for _ in range(calls):
            call()
        return self._clock() - start


class Child:
    """Answers requests."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._timed: Timed | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request."""
        if request["do"] == "open":
            return self._open(request["workload"])
        if request["do"] == "close":
            self._timed = None
            return {}
        assert self._timed is not None, "nothing is open"
        return {"samples_s": self._timed.samples(request["samples"])}

    def _open(self, name: str) -> dict[str, Any]:
        self._timed = None
        work = WORKLOADS[name]
        inputs = work.data()
        want = work.numpy(*inputs)
        try:
            ready = self._engine.prepare(work, inputs)
            ready.call()
        except Unsupported as reason:
            return {"skipped": str(reason)}
        got = np.asarray(ready.result())
        error = float(np.abs(got.reshape(want.shape) - want).max() / np.abs(want).max())
        if not error <= MOST_ERROR:
            return {"skipped": f"wrong result: off by {error:.1e} of the largest value"}
        self._timed = Timed(ready)
        return {"error": error}


def serve(child: Child, requests: TextIO, answers: TextIO) -> None:
    """Answer until the requests end."""
    for line in requests:
        _say(answers, child.answer(json.loads(line)))


def _say(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def main() -> None:
    """Become the peer that the arguments name."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("engine")
    arguments.add_argument("--cpus", required=True)
    arguments.add_argument("--folder", type=Path, required=True)
    given = arguments.parse_args()
    cpus = [int(cpu) for cpu in given.cpus.split(",")]
    os.sched_setaffinity(0, cpus)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        module = importlib.import_module(f"benchmarks.peers.engines.with_{given.engine}")
        engine = module.start(len(cpus), given.folder)
    except (ImportError, OSError, Unsupported) as error:  # OSError: a library that is not there
        return _say(answers, {"skipped": f"cannot be used: {error}"})
    _say(answers, {"version": engine.version})
    return serve(Child(engine), sys.stdin, answers)


if __name__ == "__main__":
    main()
