"""The free decisions of a space, and what must hold between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
#: knob name -> its value at each point of a population
Columns = Mapping[str, Ints]
#: knob name -> its value at one point
Values = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Knob:
    """One decision: a name and the integers it may take, in an order where neighbours are alike."""

    name: str
    values: tuple[int, ...]
    #: its value decides which steps there are; of all others only whether the value is 0 does
    structural: bool = False

    def kinds(self) -> Ints:
        """A number for each position: those that are equal lead to the same steps but for sizes."""
        if self.structural:
            return np.arange(len(self.values), dtype=np.int64)
        return np.array([value != 0 for value in self.values], dtype=np.int64)


class Size(int):
    """A product of knobs that are not chosen yet, in place of a number in a step.

    It can be multiplied and printed, and is never 0. Comparing it is an error of the rule that
    does: a knob whose value decides about steps must be structural.
    """

    knobs: tuple[str, ...]
    scale: int

    def __new__(cls, knobs: tuple[str, ...], scale: int = 1) -> Size:
        size = super().__new__(cls, 1)
        size.knobs, size.scale = knobs, scale
        return size

    def __mul__(self, other: int) -> Size:
        if isinstance(other, Size):
            return Size(self.knobs + other.knobs, self.scale * other.scale)
        return Size(self.knobs, self.scale * other)

    __rmul__ = __mul__

    def __str__(self) -> str:
        return "*".join((*self.knobs, str(self.scale)))

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __eq__(self, other: object) -> bool:
        raise TypeError(f"{self} is compared with {other!r}, but its knobs are not structural")

    __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = int.__hash__


def evaluate(size: int | str, values: Columns) -> Floats:
    """The numbers behind a step's size, or behind a printed one, [points] or [1]."""
    out = np.ones(1)
    for factor in str(size).split("*"):
        known = float(factor) if factor.isdigit() else values[factor].astype(np.float64)
        out = out * known
    return out


@dataclass(frozen=True, slots=True)
class Constraint:
    """A condition between knobs, evaluated for a whole population at once."""

    #: says in words what must hold; it is what an empty space names
    name: str
    holds: Callable[[Columns], Bools]


def grid(knobs: tuple[Knob, ...]) -> Ints:
    """Every combination of the knobs' positions, [points, knobs], the last knob fastest."""
    sizes = [len(k.values) for k in knobs]
    if not sizes:
        return np.zeros((1, 0), dtype=np.int64)
    return np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1).astype(np.int64)


def columns(knobs: tuple[Knob, ...], choice: Ints) -> dict[str, Ints]:
    """The values behind the positions `choice`, [points, knobs]."""
    return {k.name: np.asarray(k.values, dtype=np.int64)[choice[:, i]] for i, k in enumerate(knobs)}
