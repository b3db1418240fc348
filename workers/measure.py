"""One built candidate to one Measurement, through the runner."""

from __future__ import annotations

import json
import math
import os
import signal
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tuner.record import Measurement, Outcome, Timing
from workers import build_opencl
from workers.build import Built
from workers.check import CheckSet
from workers.errors import Stopped, WorkerError
from workers.hostlock import HostLock
from workers.sandbox import Ended, never, run_bounded

#: Signals that say more than "crash".
_BY_SIGNAL = {
    signal.SIGILL: Outcome.ILLEGAL_INSTRUCTION,
    signal.SIGXCPU: Outcome.TIMEOUT,
    # Nobody else kills a runner: the kernel does, for want of memory.
    signal.SIGKILL: Outcome.NO_MEMORY,
}


@dataclass(frozen=True, slots=True)
class Bench:
    """Where candidates are measured on this machine."""

    runner: Path
    #: the cores that timed runs are pinned to: the first for one thread, the first two for two, …
    cpus: tuple[int, ...]
    lock: HostLock
    #: key of the code generator, repeated in each measurement
    generator: str


def measure(
    built: Built,
    checks: CheckSet,
    timing: Timing,
    bench: Bench,
    stop: Callable[[], bool] = never,
) -> Measurement:
    """Check `built` on both data sets, then time it, alone on this host.

    Whatever the candidate does is in the measurement's outcome. Raises Stopped where `stop()` said
    so, and WorkerError where the runner itself could not work.
    """
    if built.error:
        return result(built, bench, timing, Outcome.COMPILE_ERROR, built.error)
    with bench.lock.held(stop):
        ended = run_bounded(arguments(built, checks, timing, bench, "time"), timing.limit_s, stop)
    if ended.stopped:
        raise Stopped("the run was stopped")
    stages = parse_stages(ended.out)
    outcome, detail = verdict(ended, stages, timing)
    timed = next((s for s in stages if s["stage"] == "timed"), {})
    if outcome is Outcome.OK and not sane(timed["samples_s"]):
        outcome, detail = Outcome.TIMING_ERROR, "a sample is zero, negative or not finite"
    measurement = result(built, bench, timing, outcome, detail, stages)
    if outcome is not Outcome.OK:
        return measurement
    return with_samples(measurement, timed["samples_s"], timed["calls"], timed["s"])


def arguments(built: Built, checks: CheckSet, timing: Timing, bench: Bench, mode: str) -> list[str]:
    """The command line of the runner for the candidate's language."""
    program = build_opencl.RUNNER if built.language == "opencl" else (str(bench.runner),)
    named = {
        "spec": checks.spec, "library": built.library, "kernel": built.name,
        "workspace": built.workspace_bytes, "prepared": built.prepared_bytes,
        "parent": os.getpid(),
        "cpus": cpu_list(bench, built.threads), "mode": mode,
        "cpu_s": math.ceil(timing.limit_s) + 1,
        "min_samples": timing.min_samples, "max_samples": timing.max_samples,
        "min_total_s": timing.min_total_s, "min_sample_s": timing.min_sample_s,
        "slow_factor": timing.slow_factor, "incumbent_s": timing.incumbent_s or 0,
    }  # fmt: skip
    return [*program, *(f"{key}={value}" for key, value in named.items())]


def cpu_list(bench: Bench, threads: int) -> str:
    """The cores for so many threads, like 3,2. Raises WorkerError where there are too few."""
    if threads > len(bench.cpus):
        raise WorkerError(f"{threads} threads were asked for; this worker has {len(bench.cpus)}")
    return ",".join(map(str, bench.cpus[:threads]))


def parse_stages(out: str) -> list[dict[str, Any]]:
    """The runner's lines; a last one that a crash cut short is left out."""
    stages: list[dict[str, Any]] = []
    for line in out.splitlines():
        try:
            stages.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return stages


def verdict(ended: Ended, stages: list[dict[str, Any]], timing: Timing) -> tuple[Outcome, str]:
    """How the run ended. Raises WorkerError where the runner, not the candidate, failed."""
    last = stages[-1] if stages else {"stage": "start"}
    if ended.timed_out:
        return Outcome.TIMEOUT, f"no end after {timing.limit_s:g} s, last stage: {last['stage']}"
    if ended.status < 0:
        number = signal.Signals(-ended.status)
        outcome = _BY_SIGNAL.get(number, Outcome.CRASH)
        return outcome, f"{number.name}{_place(last)}"
    if last["stage"] == "end":
        return Outcome(last["outcome"]), last["detail"]
    if last["stage"] == "failed":
        raise WorkerError(f"the runner: {last['detail']}")
    return Outcome.CRASH, f"the process ended with status {ended.status} after {last['stage']}"


def _place(last: dict[str, Any]) -> str:
    if last["stage"] != "fault":
        return f" after stage {last['stage']}"
    where = f", {last['side']} buffer {last['buffer']}" if last["buffer"] else ""
    return f" during {last['during']}{where}"


def sane(samples_s: list[float]) -> bool:
    """Can these be times?"""
    return bool(samples_s) and all(math.isfinite(s) and s > 0 for s in samples_s)


def result(
    built: Built,
    bench: Bench,
    timing: Timing,
    outcome: Outcome,
    detail: str,
    stages: list[dict[str, Any]] | None = None,
) -> Measurement:
    """A measurement without times."""
    checked = [s for s in stages or () if s["stage"] == "checked"]
    prepare_s = next((s["s"] for s in stages or () if s["stage"] == "prepared"), None)
    return Measurement(
        outcome=outcome, detail=detail, build_s=built.build_s,
        check_s=sum(s["s"] for s in checked),
        error_ratio=max((s["error_ratio"] for s in checked), default=None),
        source_sha256=built.source_sha256, generator=bench.generator, compiler=built.compiler,
        flags=built.flags, timing=timing,
        prepare_s=prepare_s, prepared_bytes=built.prepared_bytes,
    )  # fmt: skip


def with_samples(
    measurement: Measurement, samples_s: list[float], calls: int, timing_s: float
) -> Measurement:
    """The measurement with its samples and their median."""
    return replace(
        measurement, samples_s=tuple(samples_s), calls_per_sample=calls,
        median_s=statistics.median(samples_s), timing_s=timing_s,
    )  # fmt: skip
