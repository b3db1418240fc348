"""`make fuzz MINUTES=n`: draws pairs until the time is up, then prints what it drew.

    python -m tests.differential.fuzz [--minutes N] [--seed FIRST]

Every failure is printed with its seed, shrunk to the fewest steps that still fail; the exit status
is then 1.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.codegen.native import targets_here
from tests.differential.pairs import (
    Pair,
    compiled,
    differing,
    draw,
    interpreted,
    is_multi_stage,
)
from tests.differential.sanitized import run_sanitized
from tuner.errors import ScheduleError
from tuner.ir.visit import loops
from tuner.schedule.apply import apply, trace
from tuner.schedule.steps import Split, Tile, step_name
from tuner.target import Target

#: Pairs that are built as one translation unit.
BATCH = 20


class Tally:
    """What was drawn."""

    def __init__(self) -> None:
        self.pairs = self.multi_stage = self.factors = self.uneven = self.failures = 0
        self.lengths: list[int] = []
        self.steps: Counter[str] = Counter()

    def add(self, pair: Pair) -> None:
        """Counts one pair."""
        self.pairs += 1
        self.multi_stage += is_multi_stage(pair.program)
        self.lengths.append(len(pair.schedule))
        for before, step in zip(trace(pair.program, pair.schedule), pair.schedule, strict=False):
            self.steps[step_name(step)] += 1
            extents = {loop.var: loop.extent for loop in loops(before.body)}
            if isinstance(step, Split):
                self._factor(extents[step.loop], step.factor)
            elif isinstance(step, Tile):
                for loop, factor in zip(step.loops, step.factors, strict=True):
                    self._factor(extents[loop], factor)

    def _factor(self, extent: int, factor: int) -> None:
        self.factors += 1
        self.uneven += extent % factor != 0

    def text(self) -> str:
        """For people."""
        lines = [
            f"{self.pairs} pairs, {self.failures} failures",
            f"accepted steps: median {statistics.median(self.lengths)}, "
            f"largest {max(self.lengths)}",
            f"factors that do not divide: {self.uneven / max(1, self.factors):.0%}",
            f"multi-stage programs: {self.multi_stage / self.pairs:.0%}",
            "steps per 20,000 pairs:",
        ]
        for name, count in self.steps.most_common():
            lines.append(f"  {name:<22}{count * 20_000 // self.pairs:>8}")
        return "\n".join(lines)


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


def main() -> int:
    """Draws, checks, prints."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--minutes", type=float, default=5)
    arguments.add_argument("--seed", type=int, default=1_000_000)
    given = arguments.parse_args()
    end, seed, tally = time.monotonic() + given.minutes * 60, given.seed, Tally()
    targets = targets_here()
    while time.monotonic() < end:
        pairs = [draw(n) for n in range(seed, seed + BATCH)]
        target = targets[seed // BATCH % len(targets)]
        seed += BATCH
        for pair in pairs:
            tally.add(pair)
        for pair in failures(pairs, target):
            tally.failures += 1
            small = shrunk(pair, lambda p: fails_in(target, p))  # noqa: B023
            print(f"FAILED {fails_in(target, small)}\n{small.text()}", flush=True)
        for pair in pairs[::10]:
            with tempfile.TemporaryDirectory() as folder:
                run_sanitized(pair, targets[0], Path(folder))
        if seed // BATCH % 25 == 0:
            print(f"{tally.pairs} pairs, {tally.failures} failures", flush=True)
    print(f"seeds {given.seed} to {seed - 1}\n{tally.text()}")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
