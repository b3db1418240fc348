"""The baseline: points drawn at random."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tuner.search.strategy import Score, Unseen
from tuner.space.knobs import Floats
from tuner.space.space import Population, Space


class Random:
    """Uniform over sketches, then over each sketch's points."""

    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        self._unseen = Unseen(space, rng)

    def ask(self, n: int, score: Score) -> Population:
        """Up to `n` new points; `score` is not asked."""
        del score
        return self._unseen.draw(n)

    def tell(self, points: Population, seconds: Floats) -> None:
        """A random search learns nothing."""

    def exclude(self, keys: Iterable[str]) -> None:
        """Never asks for these schedules."""
        self._unseen.exclude(keys)
