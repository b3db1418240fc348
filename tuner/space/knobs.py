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
    #: decides which steps there are; the others only decide their sizes
    structural: bool = False


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
