"""Leaders timed in turn, A B C A B C: what disturbs one sample disturbs its neighbours too."""

from __future__ import annotations

import select
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any

from tuner.record import Measurement, Outcome, Timing
from workers.build import Built
from workers.check import CheckSet
from workers.errors import Stopped, WorkerError
from workers.measure import (
    Bench,
    arguments,
    parse_stages,
    result,
    sane,
    verdict,
    with_samples,
)
from workers.sandbox import STOP_POLL_S, Ended, kill_group, never

#: Fewest samples of each leader: enough for an interval of the median.
MIN_SAMPLES = 20


class _Leader:
    """One candidate's runner, waiting for its turns."""

    def __init__(self, built: Built, process: subprocess.Popen[bytes]) -> None:
        self.built, self.process = built, process
        self.out = ""
        self.calls = 0
        self.samples_s: list[float] = []
        self.ended: Ended | None = None
        self.timing_s = 0.0

    def next_stage(self, deadline: float, stop: Callable[[], bool]) -> dict[str, Any] | None:
        """Its next line; None once it has ended or is out of time, which `ended` then tells."""
        assert self.process.stdout is not None
        while time.monotonic() < deadline:
            if stop():
                raise Stopped("the play-off was stopped")
            ready, _, _ = select.select([self.process.stdout], [], [], STOP_POLL_S)
            if not ready:
                continue
            line = self.process.stdout.readline()
            self.out += line.decode(errors="replace")
            stages = parse_stages(line.decode(errors="replace"))
            if stages and stages[0]["stage"] not in ("end", "failed", "fault"):
                return stages[0]
            if not line:
                self._end(timed_out=False)
                return None
        self._end(timed_out=True)
        return None

    def _end(self, timed_out: bool) -> None:
        if not timed_out:
            self.process.wait()
        kill_group(self.process)
        self.ended = Ended(self.process.returncode, self.out, "", timed_out, stopped=False)


def play_off(
    candidates: Sequence[Built],
    checks: CheckSet,
    timing: Timing,
    bench: Bench,
    stop: Callable[[], bool] = never,
) -> list[Measurement]:
    """Check each candidate, then time all in interleaved rounds. Measurements in their order.

    Each gets `timing.limit_s` seconds to be checked and as many for all its rounds. Raises Stopped
    and WorkerError as `measure` does.
    """
    total = replace(timing, limit_s=timing.limit_s * (len(candidates) + 1))
    with bench.lock.held(stop), ExitStack() as stack:
        leaders: dict[int, _Leader] = {}
        for position, built in enumerate(candidates):
            if not built.error:
                argv = arguments(built, checks, total, bench, "rounds")
                leader = leaders[position] = _Leader(built, stack.enter_context(_process(argv)))
                _make_ready(leader, timing, stop)
        _rounds([one for one in leaders.values() if one.ended is None], timing, stop)
        return [
            _measurement(leaders[i], bench, timing)
            if i in leaders
            else result(built, bench, timing, Outcome.COMPILE_ERROR, built.error)
            for i, built in enumerate(candidates)
        ]


@contextmanager
def _process(argv: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    # Unbuffered: what select sees is what readline gets.
    process = subprocess.Popen(
        argv, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, process_group=0,
    )  # fmt: skip
    try:
        yield process
    finally:
        kill_group(process)
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def _make_ready(leader: _Leader, timing: Timing, stop: Callable[[], bool]) -> None:
    """Let it be checked and warmed up; others wait, so its calls are grouped undisturbed."""
    deadline = time.monotonic() + timing.limit_s
    while (stage := leader.next_stage(deadline, stop)) is not None:
        if stage["stage"] == "ready":
            leader.calls = stage["calls"]
            return


def _rounds(leaders: list[_Leader], timing: Timing, stop: Callable[[], bool]) -> None:
    """Rounds until each has samples and seconds enough. One that ends drops out."""
    least = max(MIN_SAMPLES, timing.min_samples)
    deadline = time.monotonic() + timing.limit_s * len(leaders)
    for taken in range(max(least, timing.max_samples)):
        running = [one for one in leaders if one.ended is None]
        enough = all(one.timing_s >= timing.min_total_s for one in running)
        if taken >= least and enough:
            return
        for leader in running:
            _one_sample(leader, deadline, stop)


def _one_sample(leader: _Leader, deadline: float, stop: Callable[[], bool]) -> None:
    assert leader.process.stdin is not None
    with suppress(BrokenPipeError):  # it ended since its last turn; its output tells how
        leader.process.stdin.write(b"\n")
    if (stage := leader.next_stage(deadline, stop)) is not None:
        leader.samples_s.append(stage["s"])
        leader.timing_s += stage["s"] * leader.calls


def _measurement(leader: _Leader, bench: Bench, timing: Timing) -> Measurement:
    stages = parse_stages(leader.out)
    outcome, detail = Outcome.OK, ""
    if leader.ended is not None:
        outcome, detail = verdict(leader.ended, stages, timing)
        if outcome is Outcome.OK:  # it cannot end well before its pipe is closed
            raise WorkerError("a runner ended before its rounds did")
    elif not sane(leader.samples_s):
        outcome, detail = Outcome.TIMING_ERROR, "a sample is zero, negative or not finite"
    measurement = result(leader.built, bench, timing, outcome, detail, stages)
    if outcome is not Outcome.OK:
        return measurement
    return with_samples(measurement, leader.samples_s, leader.calls, leader.timing_s)
