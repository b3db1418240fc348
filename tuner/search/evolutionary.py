"""The default: evolution under the cost model, with a share of points drawn at random.

A pool of points is drawn once. Each ask breeds a generation of children of the fastest measured and
of the best scored points; of everything alive the best scored are asked for. The best scored live
on, so that generations follow each other as rounds do. One large generation costs less than two
small ones: features are computed family by family, for many points about as fast as for a few.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tuner.search.strategy import Score, Unseen
from tuner.space.knobs import Floats, Ints
from tuner.space.space import Population, Space, join

#: Points that are drawn once and scored on every ask.
_POOL = 2048
#: Points that live on from one ask to the next, and have children.
_ALIVE = 128
#: Measured points that have children, and how many each.
_ELITES = 16
_LITTER = 8
#: One in so many points is drawn at random, whatever the model says of it.
_RANDOM_EVERY = 8


class Evolutionary:
    """Mutation and crossover over knobs, selection by score."""

    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        self._space, self._rng = space, rng
        self._unseen = Unseen(space, rng)
        self._pool = space.sample(rng, min(_POOL, 4 * space.size))
        self._alive = space.sample(rng, 0)
        self._measured = space.sample(rng, 0)
        self._seconds = np.empty(0)

    def ask(self, n: int, score: Score) -> Population:
        """Up to `n` new points: the best scored, and one in eight at random."""
        picked = self._unseen.take(self._evolve(score), n - n // _RANDOM_EVERY)
        return join([picked, self._unseen.draw(n - len(picked))])

    def tell(self, points: Population, seconds: Floats) -> None:
        """The fastest of them will have children."""
        self._measured = join([self._measured, points])
        self._seconds = np.concatenate([self._seconds, seconds])

    def exclude(self, keys: Iterable[str]) -> None:
        """Never asks for these schedules."""
        self._unseen.exclude(keys)

    def _evolve(self, score: Score) -> Population:
        """Everything that lived, best score first."""
        elites = self._elites()
        older = join([self._pool, self._alive])
        scores = score(older)
        parents = join([_best(older, scores, _ALIVE), *[elites] * _LITTER])
        mates = parents.take(self._rng.permutation(len(parents)))
        children = self._space.mutate(self._rng, self._space.cross(self._rng, parents, mates))
        scores = np.concatenate([scores, score(children)])
        living = _best(join([older, children]), scores, len(scores))
        self._alive = living.take(np.arange(min(_ALIVE, len(living))))
        return living

    def _elites(self) -> Population:
        timed = np.flatnonzero(np.isfinite(self._seconds))
        fastest = timed[np.argsort(self._seconds[timed], kind="stable")][:_ELITES]
        return self._measured.take(fastest)


def _best(points: Population, scores: Floats, n: int) -> Population:
    """The `n` best scored different points, best first."""
    order: Ints = np.argsort(-scores, kind="stable")
    keys = points.keys()
    seen: set[bytes] = set()
    rows: list[int] = []
    for row in order:
        if keys[row] not in seen:
            seen.add(keys[row])
            rows.append(int(row))
            if len(rows) == n:
                break
    return points.take(np.array(rows, dtype=np.int64))
