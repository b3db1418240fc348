"""What a search asks of a cost model, and the data that one learns from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tuner.features.table import FEATURES, features
from tuner.ir.nodes import Program
from tuner.model import analytic
from tuner.space.knobs import Floats
from tuner.space.space import Population, Space
from tuner.target import Target


class CostModel(Protocol):
    """Ranks points of one workload. Scores of two workloads do not compare."""

    def scores(self, table: Floats) -> Floats:
        """Higher is faster, [points], for a feature table [points, features]."""


class AnalyticModel:
    """The machine model, for as long as there are no data."""

    def scores(self, table: Floats) -> Floats:
        """Higher is faster, [points]."""
        return analytic.scores(table)


@dataclass(frozen=True, slots=True)
class Examples:
    """Measured points; those of one group were timed on one machine and compare."""

    #: [points, features]
    table: Floats
    #: median seconds, NaN where the trial failed, [points]
    seconds: Floats
    #: what each point belongs to, [points]
    group: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.group)


NO_EXAMPLES = Examples(np.empty((0, len(FEATURES))), np.empty(0), ())


def together(parts: list[Examples]) -> Examples:
    """All examples of `parts`."""
    parts = [p for p in parts if len(p)]
    if not parts:
        return NO_EXAMPLES
    return Examples(
        np.concatenate([p.table for p in parts]),
        np.concatenate([p.seconds for p in parts]),
        tuple(name for p in parts for name in p.group),
    )


class FeatureTable:
    """Features of the points of one space, each computed once."""

    def __init__(self, program: Program, space: Space, target: Target) -> None:
        self._program, self._space, self.target = program, space, target
        self._rows: dict[bytes, int] = {}
        self._table = np.empty((0, len(FEATURES)))

    def of(self, population: Population) -> Floats:
        """[points, features]."""
        keys = population.keys()
        new: dict[bytes, int] = {}
        for row, key in enumerate(keys):
            if key not in self._rows:
                new.setdefault(key, row)
        if new:
            fresh = population.take(np.fromiter(new.values(), dtype=np.int64))
            table = features(self._program, self._space, fresh, self.target)
            self._rows |= {key: len(self._table) + i for i, key in enumerate(new)}
            self._table = np.concatenate([self._table, table])
        return np.asarray(self._table[[self._rows[key] for key in keys]], dtype=np.float64)
