"""Workloads of every kind, draws from their spaces, and features of single scheduled programs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.space.programs import PROGRAMS, operator
from tests.workload.references import CASES
from tuner.errors import EmptySpaceError
from tuner.features.nest import kernel_of
from tuner.features.table import table_of
from tuner.ir.nodes import Program
from tuner.schedule.apply import apply
from tuner.space.build import space_of
from tuner.space.knobs import Floats
from tuner.space.space import Population, Space
from tuner.target import Target, target

#: Sizes that tiles divide.
ROUND: dict[str, Program] = {
    "round_matmul": operator("matmul", m=16, n=32, k=8),
    "round_dense": operator("dense", m=8, n=32, k=4, activation="gelu"),
    "round_conv2d": operator("conv2d", n=1, c=4, h=6, w=18, f=16, kh=3, kw=3),
    "round_depthwise": operator("depthwise_conv2d", n=1, c=2, h=6, w=34, kh=3, kw=3),
    "round_softmax": operator("softmax", rows=4, cols=128),
    "round_transpose": operator("transpose", rows=32, cols=64),
    "round_relu": operator("relu", n=256),
}
#: One program of each operator, but only one of those that apply one function to all elements.
OPERATORS: dict[str, Program] = {
    op: operator(op, **sizes) for op, sizes in CASES if sizes != {"n": 37} or op == "gelu"
}
WORKLOADS: dict[str, Program] = {**OPERATORS, **PROGRAMS, **ROUND}
#: Wide and narrow vectors, one thread and two, blocks and threads.
HARDWARE: tuple[Target, ...] = tuple(
    target(name) for name in ("cpu-avx512-1t", "cpu-avx2-2t", "cpu-neon-1t", "opencl-pocl")
)


def features_of(program: Program, scheduled: Program, hardware: Target) -> Floats:
    """[features] of `scheduled`, which came from `program`."""
    table = table_of(kernel_of(program), kernel_of(scheduled), hardware, 1)
    return np.asarray(table[0], dtype=np.float64)


def draws(
    program: Program, hardware: Target, each: int, seed: int = 0
) -> Iterator[tuple[Space, Population, list[Program]]]:
    """The program's space, `each` points of every sketch, and the programs that they schedule;
    nothing where the space is empty."""
    try:
        space = space_of(program, hardware)
    except EmptySpaceError:
        return
    sketches = np.repeat(np.arange(len(space.sketches)), each)
    points = space.sample_of(np.random.default_rng(seed), sketches)
    yield space, points, [apply(program, space.schedule(points, r)) for r in range(len(points))]
