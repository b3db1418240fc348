"""Features of one concretely scheduled program."""

from __future__ import annotations

import numpy as np

from tuner.features.nest import kernel_of
from tuner.features.table import table_of
from tuner.ir.nodes import Program
from tuner.space.knobs import Floats
from tuner.target import Target


def features_of(program: Program, scheduled: Program, target: Target) -> Floats:
    """[features] of `scheduled`, which came from `program`."""
    table = table_of(kernel_of(program), kernel_of(scheduled), target, 1)
    return np.asarray(table[0], dtype=np.float64)
