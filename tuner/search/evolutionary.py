"""The default: evolution under the cost model, with a share of points drawn at random.

A pool of points is drawn once. For each ask, children of the fastest measured and of the best
scored points are bred for a few generations; of everything alive the best scored are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tuner.search.strategy import Score, Unseen
from tuner.space.knobs import Floats, Ints
from tuner.space.space import Population, Space, join

#: Points that are scored on every ask.
_POOL = 1024
#: Points alive between generations, and children of each.
_ALIVE = 128
_GENERATIONS = 2
#: Measured points that have children.
_ELITES = 16
#: One in so many points is drawn at random, whatever the model says of it.
_RANDOM_EVERY = 8


class Evolutionary:
    """Mutation and crossover over knobs, selection by score."""

    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        self._space, self._rng = space, rng
        self._unseen = Unseen(space)
        self._pool = space.sample(rng, min(_POOL, 4 * space.size))
        self._measured = space.sample(rng, 0)
        self._seconds = np.empty(0)

    def ask(self, n: int, score: Score) -> Population:
        """Up to `n` new points: the best scored, and one in eight at random."""
        alive = self._evolve(score)
        chosen = self._unseen.take(alive, n - n // _RANDOM_EVERY)
        picked = alive.take(np.array(chosen, dtype=np.int64))
        spare = self._pool.take(self._rng.permutation(len(self._pool)))
        spare = join([spare, self._space.sample(self._rng, 64 * n)])
        rows = self._unseen.take(spare, n - len(picked))
        return join([picked, spare.take(np.array(rows, dtype=np.int64))])

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
        everything = [self._pool]
        alive = _best(self._pool, score(self._pool), _ALIVE)
        for _ in range(_GENERATIONS):
            parents = join([alive, elites, elites])
            mates = parents.take(self._rng.permutation(len(parents)))
            crossed = self._space.cross(self._rng, parents, mates)
            children = self._space.mutate(self._rng, crossed)
            everything.append(children)
            both = join([alive, children])
            alive = _best(both, score(both), _ALIVE)
        living = join(everything)
        return _best(living, score(living), len(living))

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
