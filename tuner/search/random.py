"""The baseline: points drawn at random."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tuner.search.strategy import Score, Unseen
from tuner.space.knobs import Floats
from tuner.space.space import Population, Space, join

#: Draws without a new schedule after which a space counts as run dry.
_DRAWS = 64


class Random:
    """Uniform over sketches, then over each sketch's points."""

    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        self._space, self._rng = space, rng
        self._unseen = Unseen(space)

    def ask(self, n: int, score: Score) -> Population:
        """Up to `n` new points; `score` is not asked."""
        del score
        found = self._space.sample(self._rng, 0)
        for _ in range(_DRAWS):
            if len(found) == n:
                break
            drawn = self._space.sample(self._rng, 4 * n)
            rows = self._unseen.take(drawn, n - len(found))
            found = join([found, drawn.take(np.array(rows, dtype=np.int64))])
        return found

    def tell(self, points: Population, seconds: Floats) -> None:
        """A random search learns nothing."""

    def exclude(self, keys: Iterable[str]) -> None:
        """Never asks for these schedules."""
        self._unseen.exclude(keys)
