"""Features of a whole population, in one numpy pass over each family of points."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tuner.features.columns import columns_of
from tuner.features.names import FEATURE_VERSION, FEATURES
from tuner.features.nest import Kernel, kernel_of
from tuner.features.replay import replay
from tuner.ir.nodes import Program
from tuner.space.knobs import Floats, Ints, Size
from tuner.space.space import Population, Schedule, Space
from tuner.target import Target

__all__ = ["FEATURES", "FEATURE_VERSION", "features", "table_of"]


def features(program: Program, space: Space, population: Population, target: Target) -> Floats:
    """[points, features] of points of the program's space."""
    base = kernel_of(program)
    out = np.empty((len(population), len(FEATURES)))
    for sketch, rows in _families(space, population):
        steps, values = _symbolic(space, population, sketch, rows)
        out[rows] = table_of(base, replay(base, steps, values), target, len(rows))
    return out


def _families(space: Space, population: Population) -> Iterator[tuple[int, Ints]]:
    """Rows of the population that have the same steps but for their sizes."""
    for index, sketch in enumerate(space.sketches):
        rows = np.flatnonzero(population.sketch == index)
        if not len(rows):
            continue
        code = np.zeros(len(rows), dtype=np.int64)
        for at, knob in enumerate(sketch.knobs):
            kinds = knob.kinds()
            code = code * (kinds.max() + 1) + kinds[population.choice[rows, at]]
        order = np.argsort(code, kind="stable")
        ends = np.flatnonzero(np.diff(code[order])) + 1
        for family in np.split(rows[order], ends):
            yield index, family


def _symbolic(
    space: Space, population: Population, index: int, rows: Ints
) -> tuple[Schedule, dict[str, Ints]]:
    """The steps that `rows` share, with sizes as knobs, and the knobs' values."""
    sketch = space.sketches[index]
    values = dict(space.columns(index, population.take(rows)))
    shared: dict[str, int] = {}
    for knob in sketch.knobs:
        first = int(values[knob.name][0])
        shared[knob.name] = first if knob.structural or first == 0 else Size((knob.name,))
    return sketch.steps(shared), values


def table_of(base: Kernel, kernel: Kernel, target: Target, n: int) -> Floats:
    """[n, features] of a kernel, of which `base` is the program as written."""
    found = columns_of(base, kernel, target, n)
    out = np.empty((n, len(FEATURES)))
    for column, name in enumerate(FEATURES):
        out[:, column] = found[name]
    return out
