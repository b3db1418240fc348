"""What single accesses of a nest do: instructions, steps in memory, and which guards they need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tuner.features.nest import Access, Kernel, Loop, Nest, Shape
from tuner.ir.nodes import LoopKind
from tuner.space.knobs import Floats
from tuner.target import Target

ZERO, ONE = np.zeros(1), np.ones(1)


@dataclass(frozen=True, slots=True)
class Touched:
    """An access while loops run: its span in each dimension for all loops, all but the first, …."""

    access: Access
    shape: Shape
    #: for each dimension [loops + 1, points], not clipped to the buffer
    spans: tuple[Floats, ...]
    #: 1 where the access goes to memory, 0 where it stays in registers, [points]
    outside: Floats

    def row_bytes(self, dim: int) -> Floats:
        """Bytes from one element to the next along `dim`."""
        size = np.full(1, float(self.shape.item))
        for extent in self.shape.extents[dim + 1 :]:
            size = size * extent
        return size

    def step_bytes(self, loop: Loop) -> Floats:
        """Bytes in memory from one iteration of `loop` to the next, 0 where there is none."""
        step = ZERO
        for d, dim in enumerate(self.access.dims):
            if loop.name in dim.steps:
                step = step + dim.step(loop.name) * self.row_bytes(d)
        return np.where(loop.extent > 1, step * self.outside, 0.0)


def touched_of(kernel: Kernel, nest: Nest, target: Target) -> tuple[Touched, ...]:
    """What the nest writes, then what it reads."""
    room = target.vector_registers * target.vector_bits // 8
    out = []
    for access in nest.accesses():
        shape = kernel.shapes[access.buffer]
        outside = (shape.bytes() > room).astype(np.float64) if shape.tile else ONE
        spans = tuple([dim.spans(nest.loops) for dim in access.dims])
        out.append(Touched(access, shape, spans, outside))
    return tuple(out)


def count(loops: Sequence[Loop]) -> Floats:
    """Iterations of all loops together."""
    out = ONE
    for loop in loops:
        out = out * loop.extent
    return out


def uses(access: Access, loop: Loop) -> bool:
    """Whether the access moves with `loop`."""
    return any(loop.name in dim.steps for dim in access.dims)


def contiguous(access: Access, loop: Loop) -> bool:
    """Whether the access moves by one element with `loop`."""
    moving = [
        d
        for d, dim in enumerate(access.dims)
        if loop.name in dim.steps and bool(np.any(dim.step(loop.name) * (loop.extent - 1) >= 1))
    ]
    last = len(access.dims) - 1
    return moving == [last] and bool(np.all(access.dims[last].step(loop.name) == 1))


@dataclass(frozen=True, slots=True)
class Moves:
    """Load and store instructions of one body, each element moved once, [points] or [1]."""

    loads: Floats
    stores: Floats
    #: those of whole vectors, the load of what is accumulated into included
    vectors: Floats
    #: those of one element that serves all lanes
    broadcasts: Floats
    #: those of single elements of an access that moves with the lanes
    scattered: Floats


def moves_of(nest: Nest, touched: Sequence[Touched], body: Sequence[Loop], width: float) -> Moves:
    """The instructions of one body; `width` elements are a vector."""
    in_vectors = any(loop.kind is LoopKind.VECTORIZED for loop in body)
    counts, vectors, broadcasts, scattered = [], ZERO, ZERO, ZERO
    for at, item in enumerate(touched):
        number, lanes, whole = _instructions(item, body, width)
        counts.append(number)
        if not lanes:
            broadcasts = broadcasts + (number if in_vectors and at else 0.0)
        elif whole:
            vectors = vectors + number * (2.0 if nest.reduces and not at else 1.0)
        else:
            scattered = scattered + number
    stores, *reads = counts
    loads = sum(reads, stores if nest.reduces else ZERO)
    return Moves(loads, stores, vectors, broadcasts, scattered)


def _instructions(
    touched: Touched, body: Sequence[Loop], width: float
) -> tuple[Floats, bool, bool]:
    """Instructions of one access in one body; whether it moves with the lanes, by one element."""
    number, lanes, whole = touched.outside, False, True
    alone = []
    for loop in body:
        if not uses(touched.access, loop):
            continue
        vector = loop.kind is LoopKind.VECTORIZED
        if vector and contiguous(touched.access, loop):
            lanes, number = True, number * np.ceil(loop.extent / width)
        else:
            lanes, whole = lanes or vector, whole and not vector
            alone.append(loop)
    return number * _distinct(touched.access, alone), lanes, whole


def _distinct(access: Access, loops: Sequence[Loop]) -> Floats:
    """Elements that an access touches while `loops` run: where iterations of several loops meet in
    one subscript, as in a window that slides, no more than lie between the first and the last."""
    distinct = ONE
    for dim in access.dims:
        moving = [loop for loop in loops if loop.name in dim.steps]
        if not moving:
            continue
        steps = [np.where(loop.extent > 1, dim.step(loop.name), 0.0) for loop in moving]
        reach = sum((s * (x.extent - 1) for s, x in zip(steps, moving, strict=True)), ZERO)
        # Quotients have steps below 1, and move by whole elements.
        grain = np.gcd.reduce(np.ceil(np.broadcast_arrays(*steps)).astype(np.int64), axis=0)
        between = np.floor(reach / np.maximum(grain, 1) + 1e-6) + 1
        distinct = distinct * np.minimum(count(moving), between)
    return np.minimum(count(loops), distinct)


def operand_registers(nest: Nest, body: Sequence[Loop]) -> Floats:
    """One register for each vector that an operand has in the tile, one for each other operand."""
    registers = ZERO
    for access in nest.reads:
        vector = [x for x in body if x.kind is LoopKind.VECTORIZED and uses(access, x)]
        wide = [x for x in body if uses(access, x) and uses(nest.write, x) and x not in vector]
        registers = registers + (count(wide) if vector else 1.0)
    return registers


def executed_share(nest: Nest) -> Floats:
    """Share of the iterations that guards let pass."""
    passed, issued = ONE, ONE
    for guard in nest.guards:
        total = nest.iterations(guard.loops)
        passed, issued = passed * np.minimum(guard.passes, total), issued * total
    return passed / issued


def tail_share(nest: Nest, body: Sequence[Loop]) -> Floats:
    """Share of the elements along vectors that the last tile holds, where it is ragged."""
    vectors = {loop.name for loop in body if loop.kind is LoopKind.VECTORIZED}
    worst = ZERO
    for guard in nest.guards:
        if vectors & guard.loops:
            tile = count([loop for loop in body if loop.name in guard.loops])
            total = nest.iterations(guard.loops)
            passes = np.minimum(guard.passes, total)
            worst = np.maximum(worst, np.where(passes < total, passes % tile / passes, 0.0))
    return worst
