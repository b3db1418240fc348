"""Random data for a pair: small integers, negative ones, values that wrap, NaN and infinity."""

from __future__ import annotations

import random

import numpy as np

from tests.schedule.equivalence import small_integers
from tuner.ir.nodes import Program

#: Kinds of data, the first as often as all others together.
KINDS = ("small", "negative", "wrapping", "special")

Arrays = dict[str, np.ndarray]


def kind_for(program: Program, rng: random.Random) -> str:
    """A kind of data that means something for the types of `program`."""
    kinds = {b.dtype.kind for b in program.buffers()}
    fitting = ["negative"]
    if kinds <= {"int", "uint"}:
        fitting.append("wrapping")
    if any(b.dtype.is_float for b in program.params):
        fitting.append("special")
    return rng.choice(fitting) if rng.random() < 0.5 else "small"


def data_for(program: Program, kind: str, seed: int) -> Arrays:
    """Inputs of that kind."""
    rng = np.random.default_rng(seed)
    arrays = small_integers(program, seed)
    for name, array in arrays.items():
        dtype = array.dtype
        if kind == "negative" and dtype.kind in "if":
            arrays[name] = -1 - np.abs(array)
        elif kind == "wrapping" and dtype.kind in "iu":
            limits = np.iinfo(dtype)
            arrays[name] = rng.integers(limits.min, limits.max, array.shape, dtype, endpoint=True)
        elif kind == "special" and dtype.kind == "f":
            special = rng.choice([np.nan, np.inf, -np.inf], array.shape).astype(dtype)
            arrays[name] = np.where(rng.random(array.shape) < 0.1, special, array)
    return arrays
