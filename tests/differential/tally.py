"""What the fuzzing has drawn, counted."""

from __future__ import annotations

import statistics
import time
from collections import Counter

from tests.differential.features import features
from tests.differential.pairs import Pair
from tuner.ir.nodes import If
from tuner.ir.visit import loops, walk
from tuner.schedule.apply import trace
from tuner.schedule.steps import STEPS, Split, Tile, step_name

#: Pairs to which counts of steps are scaled.
SCALE = 20_000


class Tally:
    """Pairs, their steps and features, and what became of them."""

    def __init__(self) -> None:
        self.pairs = self.factors = self.uneven = self.failures = 0
        self.on_device = self.sanitized = 0
        #: of those on the device, where the driver aborted by a defect of its own that is known
        self.aborted = 0
        self.lengths: list[int] = []
        self.steps: Counter[str] = Counter()
        #: those of `steps` that were taken in a program with guards
        self.guarded: Counter[str] = Counter()
        self.features: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        #: why bound pairs did not run on the device
        self.unsaid: Counter[str] = Counter()
        self._start = time.monotonic()

    def add(self, pair: Pair) -> None:
        """Counts one pair."""
        self.pairs += 1
        self.lengths.append(len(pair.schedule))
        self.features.update(features(pair))
        self.refused += pair.refused
        for before, step in zip(trace(pair.program, pair.schedule), pair.schedule, strict=False):
            self.steps[step_name(step)] += 1
            self.guarded[step_name(step)] += any(isinstance(s, If) for s in walk(before.body))
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
        return "\n".join((
            f"{self.pairs} pairs, {self.failures} failures, {self.on_device} also in OpenCL "
            f"({self.aborted} ended by a known defect of PoCL), "
            f"{self.sanitized} also under sanitizers, {time.monotonic() - self._start:.0f} s",
            f"accepted steps: median {statistics.median(self.lengths)}, "
            f"largest {max(self.lengths)}",
            f"factors that do not divide: {self.uneven / max(1, self.factors):.0%}",
            *self._shares("programs with", self.features),
            f"steps per {SCALE:,} pairs, and those in programs with guards:",
            *self._steps(),
            f"refused steps, by what refused them ({self.refused.total()} in all):",
            *self._counts(self.refused),
            f"bound pairs that OpenCL has no words for ({self.unsaid.total()} in all):",
            *self._counts(self.unsaid),
        ))  # fmt: skip

    def _shares(self, title: str, found: Counter[str]) -> list[str]:
        lines = [f"  {n:<50}{c / self.pairs:>8.0%}{c:>8}" for n, c in found.most_common()]
        return [f"{title}:", *lines]

    def _steps(self) -> list[str]:
        """Every primitive, those never drawn included."""
        return [
            f"  {name:<22}{self.steps[name] * SCALE // self.pairs:>8}"
            f"{self.guarded[name] * SCALE // self.pairs:>8}"
            for name in sorted(STEPS, key=lambda n: -self.steps[n])
        ]

    def _counts(self, found: Counter[str]) -> list[str]:
        return [f"  {name:<62}{count:>8}" for name, count in found.most_common()]
