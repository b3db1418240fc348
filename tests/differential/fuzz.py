"""`make fuzz MINUTES=n`: draws pairs until the time is up, then prints what it drew.

    python -m tests.differential.fuzz [--minutes N] [--seed FIRST]

Every failure is printed with its seed, shrunk to the fewest steps that still fail; the exit status
is then 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.codegen.native import targets_here
from tests.differential.apart import KNOWN_ABORT, apart
from tests.differential.on_device import is_bound, kernels, launched
from tests.differential.pairs import Pair, compiled, differing, draw, interpreted
from tests.differential.sanitized import run_sanitized
from tests.differential.tally import Tally
from tuner.errors import CodegenError, ScheduleError
from tuner.schedule.apply import apply
from tuner.target import Target
from workers import build_opencl

#: Pairs that are built as one translation unit.
BATCH = 20


def fails_in(target: Target, pair: Pair) -> str:
    """What is wrong with the pair; empty where nothing is."""
    try:
        if why := differing(pair, interpreted(pair)):
            return f"in the interpreter: {why}"
        why = differing(pair, compiled([pair], target)[0])
        return f"in C for {target.name}: {why}" if why else ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def shrunk(pair: Pair, fails: Callable[[Pair], str]) -> Pair:
    """The pair without the steps that the failure does not need."""
    at = 0
    while at < len(pair.schedule):
        less = (*pair.schedule[:at], *pair.schedule[at + 1 :])
        try:
            smaller = replace(pair, schedule=less, scheduled=apply(pair.program, less))
        except ScheduleError:
            at += 1
            continue
        if fails(smaller):
            pair = smaller
        else:
            at += 1
    return pair


def failures(pairs: list[Pair], target: Target) -> list[Pair]:
    """Those of `pairs` that fail; the whole batch is built at once first."""
    try:
        found = compiled(pairs, target)
        agree = all(
            not differing(p, f) and not differing(p, interpreted(p))
            for p, f in zip(pairs, found, strict=True)
        )
    except Exception:
        agree = False
    return [] if agree else [p for p in pairs if fails_in(target, p)]


def fails_on_device(pair: Pair) -> str:
    """What is wrong with the pair as OpenCL; empty where nothing is, or it cannot be said."""
    try:
        source = kernels(pair)
    except (CodegenError, ScheduleError):
        return ""
    try:
        why = differing(pair, launched(pair, source))
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
    return f"in OpenCL: {why}" if why else ""


def fails_sanitized(pair: Pair) -> str:
    """What is wrong with the pair under sanitizers; empty where nothing is."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            why = differing(pair, run_sanitized(pair, targets_here()[0], Path(folder)))
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
    return f"under sanitizers: {why}" if why else ""


class _Fuzzing:
    """Batch after batch, with the tally of all."""

    def __init__(self, device_every: int) -> None:
        self.tally, self._device = Tally(), bool(build_opencl.found())
        self._device_every = device_every
        if not self._device:
            print("no OpenCL: pyopencl or PoCL (Debian: pocl-opencl-icd) is missing", flush=True)

    def batch(self, seeds: range, target: Target) -> None:
        """Draws and checks the pairs of `seeds`."""
        pairs = list(filter(None, map(self._drawn, seeds)))
        for pair in pairs:
            self.tally.add(pair)
        for pair in failures(pairs, target):
            self._report(pair, lambda p: fails_in(target, p))
        for pair in pairs[:: self._device_every]:
            if self._device and is_bound(pair):
                self._on_device(pair)
        for pair in pairs[::10]:
            self.tally.sanitized += 1
            if fails_sanitized(pair):
                self._report(pair, fails_sanitized)

    def _drawn(self, seed: int) -> Pair | None:
        try:
            return draw(seed)
        except Exception:
            self.tally.failures += 1
            print(f"FAILED to draw {seed}\n{traceback.format_exc()}", flush=True)
            return None

    def _on_device(self, pair: Pair) -> None:
        try:
            kernels(pair)
        except (CodegenError, ScheduleError) as error:
            # names differ from pair to pair, the reason does not
            words = [w for w in str(error).partition(":")[0].split() if "'" not in w]
            self.tally.unsaid[" ".join(words)] += 1
            return
        self.tally.on_device += 1
        why = apart(fails_on_device, pair)
        if KNOWN_ABORT in why:
            self.tally.aborted += 1
        elif why:
            self._report(pair, partial(apart, fails_on_device))

    def _report(self, pair: Pair, fails: Callable[[Pair], str]) -> None:
        self.tally.failures += 1
        small = shrunk(pair, fails)
        print(f"FAILED {fails(small)}\n{small.text()}", flush=True)


def main() -> int:
    """Draws, checks, prints."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--minutes", type=float, default=5)
    arguments.add_argument("--seed", type=int, default=1_000_000)
    arguments.add_argument(
        "--device-every", type=int, default=1,
        help="one pair in so many also runs in OpenCL if it is bound: PoCL builds for a second",
    )  # fmt: skip
    given = arguments.parse_args()
    end, seed = time.monotonic() + given.minutes * 60, given.seed
    fuzzing = _Fuzzing(given.device_every)
    targets = targets_here()
    while seed == given.seed or time.monotonic() < end:
        fuzzing.batch(range(seed, seed + BATCH), targets[seed // BATCH % len(targets)])
        seed += BATCH
        if seed // BATCH % 25 == 0:
            tally = fuzzing.tally
            print(f"{tally.pairs} pairs, {tally.failures} failures", flush=True)
    print(f"seeds {given.seed} to {seed - 1}\n{fuzzing.tally.text()}")
    return 1 if fuzzing.tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
