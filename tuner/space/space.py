"""Spaces of schedules: sketches over knobs, sampled, mutated and crossed as whole populations."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, takewhile

import numpy as np

from tuner.errors import EmptySpaceError
from tuner.schedule.steps import Pack, Step
from tuner.space.knobs import Bools, Columns, Constraint, Ints, Knob, Values, columns, grid

Schedule = tuple[Step, ...]
#: A part with more points than this would cost more to hold than the search gains by it.
MAX_PART_POINTS = 1 << 21


class Part(ABC):
    """What a rule offers for one nest, or for several that it fuses: knobs, and their steps."""

    knobs: tuple[Knob, ...]
    constraints: tuple[Constraint, ...]

    @property
    @abstractmethod
    def name(self) -> str:
        """Says what the part does, equal for programs that differ in names only."""

    def packs(self, values: Values) -> Schedule:
        """Copies of whole buffers at one point. Those of all parts come first: a copy is made
        before the first nest that reads the buffer, and later steps make nests that do."""
        del values
        return ()

    @abstractmethod
    def steps(self, values: Values) -> Schedule:
        """The steps of one point behind all packs."""

    @abstractmethod
    def guesses(self, schedule: Schedule) -> Iterable[dict[str, int]]:
        """Points whose packs and steps may be in `schedule`, as far as a glance tells."""

    @cached_property
    def points(self) -> Ints:
        """The legal combinations of the knobs, as positions, [points, knobs].

        Raises EmptySpaceError naming the constraint that left nothing.
        """
        count = math.prod(len(k.values) for k in self.knobs)
        if count > MAX_PART_POINTS:
            raise EmptySpaceError(
                f"{self.name}: {count} combinations of knobs, at most {MAX_PART_POINTS} are "
                "held; give its knobs fewer values"
            )
        choice = grid(self.knobs)
        for constraint in self.constraints:
            ok = constraint.holds(columns(self.knobs, choice))
            if not ok.any():
                raise EmptySpaceError(f"{self.name}: no point satisfies '{constraint.name}'")
            choice = choice[ok]
        return choice


class Sketch:
    """A structural family of schedules: one part for each piece of the program."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        self.name = " + ".join(p.name for p in self.parts) or "as is"
        self.knobs = tuple(k for p in self.parts for k in p.knobs)
        bounds = np.cumsum([0, *(len(p.knobs) for p in self.parts)])
        self.slices = [slice(a, b) for a, b in pairwise(bounds)]

    @property
    def points(self) -> tuple[Ints, ...]:
        """The legal combinations of each part's knobs, as positions. Raises EmptySpaceError."""
        return tuple(part.points for part in self.parts)

    @property
    def size(self) -> int:
        """Legal points."""
        size = 1
        for legal in self.points:
            size *= len(legal)
        return size

    def holds(self, choice: Ints) -> Bools:
        """Which rows of positions are legal."""
        ok = np.ones(len(choice), dtype=bool)
        for part, where in zip(self.parts, self.slices, strict=True):
            values = columns(part.knobs, choice[:, where])
            for constraint in part.constraints:
                ok &= constraint.holds(values)
        return ok

    def steps(self, values: Values) -> Schedule:
        """The schedule of one point."""
        packs = (step for part in self.parts for step in part.packs(values))
        return (*packs, *(step for part in self.parts for step in part.steps(values)))

    def recover(self, schedule: Schedule) -> dict[str, int] | None:
        """The values whose schedule this is, None where this sketch has none."""
        values: dict[str, int] = {}
        packs = tuple(takewhile(lambda step: isinstance(step, Pack) and not step.loop, schedule))
        steps = schedule[len(packs) :]
        for part in self.parts:
            for guess in part.guesses(schedule):
                if not all(guess.get(k.name) in k.values for k in part.knobs):
                    continue
                copies, rest = part.packs(guess), part.steps(guess)
                if packs[: len(copies)] == copies and steps[: len(rest)] == rest:
                    values |= guess
                    packs, steps = packs[len(copies) :], steps[len(rest) :]
                    break
            else:
                return None
        return None if packs or steps else values


@dataclass(frozen=True, slots=True)
class Population:
    """Points of one space as a structure of arrays."""

    #: index of each point's sketch, [n]
    sketch: Ints
    #: position of each knob's value, [n, most knobs of any sketch]; 0 where there is no knob
    choice: Ints

    def __len__(self) -> int:
        return len(self.sketch)

    def take(self, rows: Ints | Bools) -> Population:
        """The points at `rows`, in that order."""
        return Population(self.sketch[rows], self.choice[rows])

    def keys(self) -> list[bytes]:
        """What tells two points of one space apart."""
        both = np.column_stack((self.sketch, self.choice))
        return [row.tobytes() for row in both]


def join(populations: Sequence[Population]) -> Population:
    """One population after the other."""
    return Population(
        np.concatenate([p.sketch for p in populations]),
        np.concatenate([p.choice for p in populations]),
    )


class Space:
    """All sketches of one program on one target."""

    def __init__(self, sketches: Sequence[Sketch]) -> None:
        """Raises EmptySpaceError if no sketch has a legal point."""
        self.sketches = self._with_points(sketches)
        self.width = max(len(s.knobs) for s in self.sketches)

    @staticmethod
    def _with_points(sketches: Sequence[Sketch]) -> tuple[Sketch, ...]:
        kept, reasons = [], []
        for sketch in sketches:
            try:
                if sketch.points is not None:
                    kept.append(sketch)
            except EmptySpaceError as error:
                reasons.append(str(error))
        if not kept:
            raise EmptySpaceError("; ".join(reasons) or "no rule offers a sketch")
        return tuple(kept)

    @property
    def size(self) -> int:
        """Legal points over all sketches."""
        return sum(s.size for s in self.sketches)

    def sample(self, rng: np.random.Generator, n: int) -> Population:
        """`n` legal points: sketches alike often, then uniform within each part."""
        return self.sample_of(rng, rng.integers(len(self.sketches), size=n))

    def sample_of(self, rng: np.random.Generator, sketch: Ints) -> Population:
        """A uniform legal point for each of the given sketches."""
        choice = np.zeros((len(sketch), self.width), dtype=np.int64)
        for index, family in enumerate(self.sketches):
            rows = np.flatnonzero(sketch == index)
            for legal, where in zip(family.points, family.slices, strict=True):
                drawn = rng.integers(len(legal), size=len(rows))
                choice[rows, where] = legal[drawn]
        return Population(sketch, choice)

    def everything(self) -> Population:
        """All legal points: for spaces that are known to be small."""
        families = []
        for index, family in enumerate(self.sketches):
            counts = [len(legal) for legal in family.points]
            positions = np.indices(counts).reshape(len(counts), family.size)
            choice = np.zeros((family.size, self.width), dtype=np.int64)
            for legal, where, rows in zip(family.points, family.slices, positions, strict=True):
                choice[:, where] = legal[rows]
            families.append(Population(np.full(family.size, index, dtype=np.int64), choice))
        return join(families)

    def mutate(self, rng: np.random.Generator, parents: Population) -> Population:
        """Legal neighbours: one or two knobs moved; the parent itself where all that were tried
        are illegal."""
        choice = parents.choice.copy()
        for index, family in enumerate(self.sketches):
            rows = np.flatnonzero(parents.sketch == index)
            for _ in range(4):
                moved = _moved(rng, family.knobs, parents.choice[rows])
                ok = family.holds(moved)
                choice[rows[ok]] = moved[ok]
                rows = rows[~ok]
        return Population(parents.sketch, choice)

    def cross(self, rng: np.random.Generator, a: Population, b: Population) -> Population:
        """Children with each knob from either parent; `a` itself where the parents' sketches
        differ or the mixture is illegal."""
        mixed = np.where(rng.random(a.choice.shape) < 0.5, a.choice, b.choice)
        choice = a.choice.copy()
        for index, family in enumerate(self.sketches):
            rows = np.flatnonzero((a.sketch == index) & (b.sketch == index))
            ok = family.holds(mixed[rows])
            choice[rows[ok]] = mixed[rows[ok]]
        return Population(a.sketch, choice)

    def columns(self, index: int, population: Population) -> Columns:
        """Knob values of points that all belong to sketch `index`."""
        return columns(self.sketches[index].knobs, population.choice)

    def values(self, population: Population, row: int) -> dict[str, int]:
        """Knob values of one point."""
        knobs = self.sketches[population.sketch[row]].knobs
        return {k.name: k.values[population.choice[row, i]] for i, k in enumerate(knobs)}

    def schedule(self, population: Population, row: int) -> Schedule:
        """The steps of one point."""
        sketch = self.sketches[int(population.sketch[row])]
        return sketch.steps(self.values(population, row))

    def recover(self, schedule: Schedule) -> Population | None:
        """The point whose schedule this is, as a population of one; None if there is none."""
        for index, family in enumerate(self.sketches):
            values = family.recover(schedule)
            if values is not None:
                choice = np.zeros((1, self.width), dtype=np.int64)
                for i, knob in enumerate(family.knobs):
                    choice[0, i] = knob.values.index(values[knob.name])
                return Population(np.array([index]), choice)
        return None


def _moved(rng: np.random.Generator, knobs: tuple[Knob, ...], choice: Ints) -> Ints:
    """Each row with one knob, or half of the time two, stepped to a neighbour or drawn anew."""
    out = choice.copy()
    n, rows = len(choice), np.arange(len(choice))
    free = np.array([i for i, k in enumerate(knobs) if len(k.values) > 1], dtype=np.int64)
    if not len(free):
        return out
    sizes = np.array([len(k.values) for k in knobs], dtype=np.int64)
    for active in (np.ones(n, dtype=bool), rng.random(n) < 0.5):
        knob = free[rng.integers(len(free), size=n)]
        size = sizes[knob]
        step = np.clip(out[rows, knob] + rng.choice((-1, 1), size=n), 0, size - 1)
        target = np.where(rng.random(n) < 0.5, step, rng.integers(size))
        out[rows[active], knob[active]] = target[active]
    return out
