"""Which bytes a nest touches, and how often they move between caches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tuner.features.accesses import ONE, ZERO, Touched
from tuner.features.nest import Loop
from tuner.ir.nodes import LoopKind
from tuner.space.knobs import Floats
from tuner.target import Target

LINE_BYTES = 64
PAGE_BYTES = 4096
#: Bytes after which addresses fall into the same sets of an L1 cache.
ALIAS_BYTES = 4096.0


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of one nest, [points] or [1]; of each triple, that of L1 or the innermost first."""

    #: lines that fall into the same set of an L1 cache within one body, for the worst operand
    aliased: Floats
    #: pages touched by one round of the innermost serial loop
    pages: Floats
    #: bytes touched by the body, and by all loops
    body_bytes: Floats
    bytes: Floats
    #: bytes touched by the innermost serial loop, and by each of the two around it
    footprints: tuple[Floats, Floats, Floats]
    #: bytes loaded into each cache level
    traffic: tuple[Floats, Floats, Floats]
    #: iterations between two loads of each cache level
    resident: tuple[Floats, Floats, Floats]
    #: bytes that statements move to and from memory
    moved: Floats
    #: buffers in memory
    streams: Floats
    #: bytes from one iteration of the innermost serial loop to the next, for the worst operand
    stride: Floats
    #: likewise from one thread along x to the next
    thread_stride: Floats


def memory_of(
    touched: Sequence[Touched], loops: Sequence[Loop], serial: int, target: Target
) -> Memory:
    """The memory of a nest, the first `serial` of whose `loops` are around its body."""
    sizes = _bytes(touched)
    at = [max(serial - depth, 0) for depth in (1, 2, 3)]
    traffic, resident, iterations = _traffic(sizes, loops, target)
    along_x = [loop for loop in loops if loop.kind is LoopKind.THREAD_X]
    buffers = {item.access.buffer: item.outside for item in touched}
    return Memory(
        aliased=_aliased(touched, serial),
        pages=_pages(touched, at[0]),
        body_bytes=sizes[serial],
        bytes=sizes[0],
        footprints=(sizes[at[0]], sizes[at[1]], sizes[at[2]]),
        traffic=traffic,
        resident=resident,
        moved=iterations * sum((item.outside * item.shape.item for item in touched), ZERO),
        streams=sum(buffers.values(), ZERO),
        stride=_stride(touched, loops[serial - 1 : serial]),
        thread_stride=_stride(touched, along_x),
    )


def _stride(touched: Sequence[Touched], loops: Sequence[Loop]) -> Floats:
    worst = ZERO
    for loop in loops:
        for item in touched:
            worst = np.maximum(worst, item.step_bytes(loop))
    return worst


def _aliased(touched: Sequence[Touched], at: int) -> Floats:
    worst = ONE
    for item in touched:
        for d, spans in enumerate(item.spans[:-1]):
            stride = item.row_bytes(d).astype(np.int64)
            sets = ALIAS_BYTES / np.gcd(stride, int(ALIAS_BYTES))
            worst = np.maximum(worst, item.outside * spans[at] / np.maximum(sets, 1.0))
    return worst


def _pages(touched: Sequence[Touched], at: int) -> Floats:
    total = ZERO
    for item in touched:
        pages = item.outside
        for d, spans in enumerate(item.spans):
            span = np.minimum(spans[at], item.shape.extents[d])
            reach = np.minimum(item.row_bytes(d) / PAGE_BYTES, 1.0)
            pages = pages * np.maximum(1.0, span * reach)
        total = total + pages
    return total


def _bytes(touched: Sequence[Touched]) -> Floats:
    """Bytes of whole cache lines that all loops touch, then all but the first, and so on, clipped
    to the buffers, [loops + 1, points]; two accesses of one buffer count once."""
    seen: dict[str, Floats] = {}
    for item in touched:
        lines = np.full((1, 1), float(LINE_BYTES))
        last = len(item.spans) - 1
        for d, (spans, extent) in enumerate(zip(item.spans, item.shape.extents, strict=True)):
            clipped = np.minimum(spans, extent)
            if d == last:
                clipped = np.ceil(clipped * (item.shape.item / LINE_BYTES))
            lines = lines * clipped
        size = lines * item.outside
        name = item.access.buffer
        seen[name] = np.maximum(seen[name], size) if name in seen else size
    return sum(seen.values(), np.zeros((1, 1)))


_Triple = tuple[Floats, Floats, Floats]


def _traffic(
    sizes: Floats, loops: Sequence[Loop], target: Target
) -> tuple[_Triple, _Triple, Floats]:
    """Bytes loaded into each cache: what the outermost loop whose body fits into it touches, once
    for each iteration of the loops further out; the iterations in between; all iterations."""
    points = max(sizes.shape[1], *(len(loop.extent) for loop in loops)) if loops else 1
    around = np.ones((len(loops) + 1, points))
    for at, loop in enumerate(loops):
        around[at + 1] = around[at] * loop.extent
    moved = around * sizes
    # Past the innermost loop everything fits.
    inside = np.concatenate([sizes[1:], np.zeros((1, sizes.shape[1]))])
    rooms = np.array([[[target.l1_bytes]], [[target.l2_bytes]], [[target.l3_bytes]]])
    first = np.argmax(inside <= rooms, axis=1)
    row = np.arange(points)
    l1, l2, l3 = moved[first, row]
    r1, r2, r3 = around[-1] / around[np.minimum(first + 1, len(loops)), row]
    return (l1, l2, l3), (r1, r2, r3), around[-1]
