"""Every point of a small space."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tuner.errors import SearchError
from tuner.search.strategy import WALKED, Score, Unseen
from tuner.space.knobs import Floats
from tuner.space.space import Population, Space


class Exhaustive:
    """All points, in an order drawn at random: a budget that ends early saw a fair sample."""

    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        """Raises SearchError where the space is not small."""
        if space.size > WALKED:
            raise SearchError(
                f"the space has {space.size} points; the strategy 'exhaustive' takes at most "
                f"{WALKED}: search this one with 'evolutionary'"
            )
        self._unseen = Unseen(space, rng)

    def ask(self, n: int, score: Score) -> Population:
        """Up to `n` new points; `score` is not asked."""
        del score
        return self._unseen.walk(n)

    def tell(self, points: Population, seconds: Floats) -> None:
        """Whoever tries everything need not learn."""

    def exclude(self, keys: Iterable[str]) -> None:
        """Never asks for these schedules."""
        self._unseen.exclude(keys)
