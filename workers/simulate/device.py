"""A simulated device: a candidate in, a Measurement out, as a worker on hardware would report it.

Everything about a trial follows from (seed, workload, schedule, purpose), each sample from its
number as well: who measures it, when, and beside what else makes no difference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from tuner.codegen.kernel import GENERATOR, generate
from tuner.errors import TilewrightError
from tuner.frontends.text import parse
from tuner.ir.nodes import Program
from tuner.log import steps_key
from tuner.model.machine import Machine
from tuner.record import Measurement, Outcome, Peaks, Purpose, Timing
from tuner.schedule.steps import Schedule, schedule_from_json
from tuner.space.knobs import Floats
from tuner.target import Target, with_threads
from tuner.workload.count import io_bytes
from workers.measure import with_samples
from workers.playoff import MIN_SAMPLES
from workers.simulate.faults import NO_FAULTS, SLOW_FACTOR, Fault, Faults
from workers.simulate.hashes import key, normals, uniform
from workers.simulate.truth import simulated_seconds, version

#: Share of the noise's variance that a trial's samples have in common, as a machine has better and
#: worse moments. In a play-off leaders are timed in turn, and a moment is that of one round.
COMMON = 0.5
#: Most calls in one sample, as in the runner.
MAX_CALLS = 1_000_000
#: Seconds that a worker would spend on a candidate beside timing it.
BUILD_S, CHECK_S = 0.06, 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A candidate on its way through a device."""

    workload: str
    #: canonical program text
    program: str
    hardware: Target
    steps: dict[str, Any]
    purpose: Purpose
    timing: Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One machine that is not there."""

    machine: Machine
    seed: int = 0
    #: sigma of the logarithm of one sample
    noise: float = 0.0
    faults: Faults = NO_FAULTS
    #: share of the seconds that hardware would take which a trial really takes
    latency: float = 0.0
    #: leave out generating the code of search trials, which is nine tenths of the work: their
    #: records have no source's sum, and what only a generator refuses is timed like all others
    quick: bool = False

    @property
    def fingerprint(self) -> str:
        """Its name; times of two of them do not compare. Noise and faults leave it as it is."""
        return f"simulated:{self.machine.name}:seed-{self.seed}:{version()}"

    @property
    def compiler(self) -> str:
        """What stands for a compiler in its records."""
        return f"simulated {self.machine.name}, seed {self.seed}, noise {self.noise:g}"

    @property
    def facts(self) -> dict[str, Any]:
        """What a worker tells of it."""
        return {
            "simulated": True, "machine": self.machine.name, "model": self.machine.doc,
            "seed": self.seed, "noise": self.noise, "faults": str(self.faults),
            "cores": self.machine.cores, "clock_hz": self.machine.clock_hz, "version": version(),
        }  # fmt: skip

    @property
    def targets(self) -> tuple[str, ...]:
        """One thread first, all cores last, as a machine's own worker offers them."""
        alone = self.machine.target
        if alone.has_blocks:
            return (alone.name,)
        return alone.name, with_threads(alone, self.machine.cores).name

    def peaks(self, hardware: Target, text: str) -> Peaks:
        """The machine's limits for a canonical program `text`."""
        return self.machine.peaks(hardware, io_bytes(_parsed(text)))

    def fault(self, trial: Trial) -> Fault | None:
        """What goes wrong with a trial."""
        return self.faults.drawn(uniform("fault", self._of(trial)))

    def measure(self, trial: Trial) -> Measurement:
        """What comes of a trial, a lost connection left aside."""
        try:
            program, schedule = _parsed(trial.program), schedule_from_json(trial.steps)
            made = ("", "")
            if trial.purpose is not Purpose.SEARCH or not self.quick:
                made = _generated(trial.program, schedule, trial.hardware)
            seconds = simulated_seconds(program, schedule, trial.hardware, self.seed)
        except TilewrightError as error:
            return self._result(trial, Outcome.REFUSED, str(error))
        fault = self.fault(trial)
        outcome, detail = _verdict(fault, seconds, trial.timing)
        measured = self._result(trial, outcome, detail, made)
        if outcome is Outcome.TIMEOUT:
            return replace(measured, timing_s=self.latency * trial.timing.limit_s)
        if outcome is not Outcome.OK:
            return measured
        slowed = seconds * (SLOW_FACTOR if fault is Fault.SLOW else 1.0)
        return self._timed(measured, trial, slowed)

    def timed(self, trial: Trial, seconds: float) -> Measurement:
        """What comes of a trial that takes `seconds` without noise, and in which nothing fails."""
        return self._timed(self._result(trial, Outcome.OK, ""), trial, seconds)

    def _of(self, trial: Trial) -> int:
        schedule = steps_key(trial.steps)
        return key(self.seed, trial.workload, trial.hardware.name, schedule, trial.purpose)

    def _result(
        self, trial: Trial, outcome: Outcome, detail: str, made: tuple[str, str] = ("", "")
    ) -> Measurement:
        return Measurement(
            outcome=outcome, detail=detail, source_sha256=made[0], generator=GENERATOR,
            compiler=self.compiler, flags=made[1], timing=trial.timing,
            build_s=self.latency * BUILD_S,
        )  # fmt: skip

    def _timed(self, measured: Measurement, trial: Trial, seconds: float) -> Measurement:
        """Groups calls, takes samples and stops as the runner does."""
        timing = trial.timing
        calls = int(np.clip(np.ceil(timing.min_sample_s / seconds), 1, MAX_CALLS))
        samples = seconds * np.exp(self.noise * self._disturbances(trial))
        least = max(timing.min_samples, MIN_SAMPLES if trial.purpose is Purpose.PLAYOFF else 1)
        taken = np.arange(1, len(samples) + 1)
        enough = np.cumsum(samples) * calls >= timing.min_total_s
        if timing.incumbent_s is not None and trial.purpose is not Purpose.PLAYOFF:
            enough |= np.minimum.accumulate(samples) > timing.slow_factor * timing.incumbent_s
        ends = np.flatnonzero(enough & (taken >= least))
        kept = [float(s) for s in samples[: ends[0] + 1 if len(ends) else len(samples)]]
        checked = replace(measured, check_s=self.latency * CHECK_S)
        return with_samples(checked, kept, calls, self.latency * sum(kept) * calls)

    def _disturbances(self, trial: Trial) -> Floats:
        """What disturbs each sample, in units of the noise, as many as there may be samples."""
        most, of = max(trial.timing.max_samples, trial.timing.min_samples), self._of(trial)
        own = normals(key("sample", of), most)
        if trial.purpose is Purpose.PLAYOFF:
            common = normals(key("round", self.seed, trial.workload, trial.hardware.name), most)
        else:
            common = normals(key("moment", of), 1)
        return np.asarray(np.sqrt(1.0 - COMMON) * own + np.sqrt(COMMON) * common)


def _verdict(fault: Fault | None, seconds: float, timing: Timing) -> tuple[Outcome, str]:
    match fault:
        case Fault.CRASH:
            return Outcome.CRASH, "SIGSEGV during call (simulated fault)"
        case Fault.HANG:
            return Outcome.TIMEOUT, f"no end after {timing.limit_s:g} s (simulated fault)"
        case Fault.WRONG:
            return Outcome.WRONG_RESULT, "an output differs from the reference (simulated fault)"
    # It is called twice to be checked, and once to warm up.
    if seconds * (3 + timing.min_samples) > timing.limit_s:
        return Outcome.TIMEOUT, f"no end after {timing.limit_s:g} s, {seconds:g} s for a call"
    return Outcome.OK, ""


@lru_cache(maxsize=64)
def _parsed(text: str) -> Program:
    return parse(text)


@lru_cache(maxsize=4096)
def _generated(text: str, schedule: Schedule, hardware: Target) -> tuple[str, str]:
    """The sum of the source that hardware would run, and its compiler flags."""
    source = generate(_parsed(text), schedule, hardware)
    return source.sha256, " ".join(source.flags)
