"""What one nest costs a processor: instructions, registers, and bytes that move between caches.

The body of a nest is its innermost loops that are unrolled or vectorized; it becomes straight code
and is run once for each iteration of the serial loops around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tuner.features.nest import Access, Kernel, Loop, Nest, Shape
from tuner.ir.nodes import LoopKind
from tuner.space.knobs import Floats
from tuner.target import Target

LINE_BYTES = 64
PAGE_BYTES = 4096
#: Instructions of a transcendental function in vectors, roughly.
COSTLY_INSTRUCTIONS = 16.0
#: Cycles from one accumulation to the next into the same register.
LATENCY = 4.0
_ZERO, _ONE = np.zeros(1), np.ones(1)
#: Bytes after which addresses fall into the same sets of an L1 cache.
ALIAS_BYTES = 4096.0


@dataclass(frozen=True, slots=True)
class NestWork:
    """Totals of one nest over all its iterations, [points] or [1]."""

    iterations: Floats
    #: times the body is run
    bodies: Floats
    #: vector instructions of arithmetic; scalar ones where the nest has no vectors
    arithmetic: Floats
    #: cycles that its instructions and its waiting take at least
    cycles: Floats
    loads: Floats
    stores: Floats
    #: cycles that accumulations into the same register wait for each other, at least
    waiting: Floats
    #: elements that are moved one by one though the nest has vectors
    scattered: Floats
    #: statements that the body is written out to
    statements: Floats
    #: vector registers that hold tiles and operands in the body
    registers: Floats
    accumulators: Floats
    #: iterations of the innermost serial loop
    inner: Floats
    #: lanes that are used of each vector
    lanes: Floats
    #: lines that fall into the same set of an L1 cache within one body, for the worst operand
    aliased: Floats
    #: pages touched by one round of the innermost serial loop
    pages: Floats
    #: bytes touched by the body's innermost serial loop, and by each of the two around it
    footprints: tuple[Floats, Floats, Floats]
    #: bytes loaded into each cache level, L1 first
    traffic: tuple[Floats, Floats, Floats]
    #: threads busy on average, 1 without a parallel loop; times that such a loop begins
    threads: tuple[Floats, Floats]


@dataclass(frozen=True, slots=True)
class _Touched:
    """An access while loops run: its span in each dimension for all loops, all but the first, …."""

    access: Access
    shape: Shape
    #: for each dimension [loops + 1, points], not clipped to the buffer
    spans: tuple[Floats, ...]
    #: 1 where the access goes to memory, 0 where it stays in registers, [points]
    outside: Floats


def work_of(kernel: Kernel, nest: Nest, target: Target) -> NestWork:
    """The work of one nest."""
    body, serial = _body(nest)
    vector = [loop for loop in body if loop.kind is LoopKind.VECTORIZED]
    width = float(target.vector_bits // 8 // kernel.shapes[nest.write.buffer].item)
    lanes = np.minimum(_product(vector), width) if vector else _ONE
    bodies = _product(serial)
    iterations = bodies * _product(body)
    write, *reads = (_touched(kernel, access, nest.loops, target) for access in nest.accesses())
    memory = (write, *reads)
    stored = write.outside * _moves(nest.write, body, width)
    loaded = sum((t.outside * _moves(t.access, body, width) for t in reads), _ZERO)
    cheap = nest.cheap - (1.0 if nest.reduces and nest.cheap >= 2 else 0.0)
    own = [x for x in body if _uses(nest.write, x) and x not in vector]
    chain = _product([x for x in body if not _uses(nest.write, x) and x not in vector])
    sizes = _bytes(memory)
    at = [max(len(serial) - depth, 0) for depth in (1, 2, 3)]
    arithmetic = iterations / lanes * (cheap + COSTLY_INSTRUCTIONS * nest.costly)
    waiting = bodies * chain * LATENCY if nest.reduces else _ZERO
    loads = bodies * (loaded + (stored if nest.reduces else 0.0))
    moves = loads / 2 + bodies * stored
    return NestWork(
        iterations=iterations,
        bodies=bodies,
        arithmetic=arithmetic,
        cycles=np.maximum(np.maximum(arithmetic / target.vectors_per_cycle, waiting), moves),
        loads=loads,
        stores=bodies * stored,
        waiting=waiting,
        scattered=bodies * sum((_scattered(t, body, width) for t in memory), _ZERO),
        statements=_product(body) / lanes,
        registers=_product(own) + _operand_registers(nest, body),
        accumulators=_product(own),
        inner=serial[-1].extent if serial else _ONE,
        lanes=lanes,
        aliased=_aliased(memory, len(serial)),
        pages=_pages(memory, at[0]),
        footprints=(sizes[at[0]], sizes[at[1]], sizes[at[2]]),
        traffic=_traffic(sizes, nest.loops, target),
        threads=_threads(serial, target),
    )


def _threads(serial: Sequence[Loop], target: Target) -> tuple[Floats, Floats]:
    """Threads busy on average, as the last round of a parallel loop may leave some without work;
    and how often such a loop begins."""
    for at, loop in enumerate(serial):
        if loop.kind is LoopKind.PARALLEL:
            return loop.extent / np.ceil(loop.extent / target.threads), _product(serial[:at])
    return _ONE, _ZERO


def _touched(kernel: Kernel, access: Access, loops: Sequence[Loop], target: Target) -> _Touched:
    shape = kernel.shapes[access.buffer]
    spans = tuple(dim.spans(loops) for dim in access.dims)
    outside = _ONE
    if shape.tile:
        room = target.vector_registers * target.vector_bits // 8
        outside = (shape.bytes() > room).astype(np.float64)
    return _Touched(access, shape, spans, outside)


def _body(nest: Nest) -> tuple[list[Loop], list[Loop]]:
    """The straight-line loops at the bottom, and the loops around them."""
    at = len(nest.loops)
    while at and nest.loops[at - 1].kind in (LoopKind.UNROLLED, LoopKind.VECTORIZED):
        at -= 1
    return list(nest.loops[at:]), list(nest.loops[:at])


def _product(loops: Sequence[Loop]) -> Floats:
    out = _ONE
    for loop in loops:
        out = out * loop.extent
    return out


def _uses(access: Access, loop: Loop) -> bool:
    return any(loop.name in dim.steps for dim in access.dims)


def _contiguous(access: Access, loop: Loop) -> bool:
    """Whether the access moves by one element with `loop`."""
    moving = [
        d
        for d, dim in enumerate(access.dims)
        if loop.name in dim.steps and bool(np.any(dim.step(loop.name) * (loop.extent - 1) >= 1))
    ]
    last = len(access.dims) - 1
    return moving == [last] and bool(np.all(access.dims[last].step(loop.name) == 1))


def _moves(access: Access, body: Sequence[Loop], width: float) -> Floats:
    """Load or store instructions in one body, each element moved once."""
    count = _ONE
    for loop in body:
        if not _uses(access, loop):
            continue
        packed = loop.kind is LoopKind.VECTORIZED and _contiguous(access, loop)
        count = count * (np.ceil(loop.extent / width) if packed else loop.extent)
    return count


def _scattered(touched: _Touched, body: Sequence[Loop], width: float) -> Floats:
    access = touched.access
    vector = [x for x in body if x.kind is LoopKind.VECTORIZED and _uses(access, x)]
    if not vector or _contiguous(access, vector[-1]):
        return _ZERO
    return touched.outside * _moves(access, body, width)


def _operand_registers(nest: Nest, body: Sequence[Loop]) -> Floats:
    """One register for each vector that an operand has in the tile, one for each other operand."""
    count = _ZERO
    for access in nest.reads:
        vector = [x for x in body if x.kind is LoopKind.VECTORIZED and _uses(access, x)]
        wide = [x for x in body if _uses(access, x) and _uses(nest.write, x) and x not in vector]
        count = count + (_product(wide) if vector else 1.0)
    return count


def _row_bytes(shape: Shape, dim: int) -> Floats:
    """Bytes from one element to the next along `dim`."""
    size = np.full(1, float(shape.item))
    for extent in shape.extents[dim + 1 :]:
        size = size * extent
    return size


def _aliased(memory: Sequence[_Touched], at: int) -> Floats:
    worst = _ONE
    for touched in memory:
        for d, spans in enumerate(touched.spans[:-1]):
            stride = _row_bytes(touched.shape, d).astype(np.int64)
            sets = ALIAS_BYTES / np.gcd(stride, int(ALIAS_BYTES))
            worst = np.maximum(worst, touched.outside * spans[at] / np.maximum(sets, 1.0))
    return worst


def _pages(memory: Sequence[_Touched], at: int) -> Floats:
    total = _ZERO
    for touched in memory:
        pages = touched.outside
        for d, spans in enumerate(touched.spans):
            span = np.minimum(spans[at], touched.shape.extents[d])
            reach = np.minimum(_row_bytes(touched.shape, d) / PAGE_BYTES, 1.0)
            pages = pages * np.maximum(1.0, span * reach)
        total = total + pages
    return total


def _bytes(memory: Sequence[_Touched]) -> Floats:
    """Bytes of whole cache lines that all loops touch, then all but the first, and so on, clipped
    to the buffers, [loops + 1, points]; two accesses of one buffer count once."""
    seen: dict[str, Floats] = {}
    for touched in memory:
        lines = np.full((1, 1), float(LINE_BYTES))
        last = len(touched.spans) - 1
        for d, (spans, extent) in enumerate(zip(touched.spans, touched.shape.extents, strict=True)):
            clipped = np.minimum(spans, extent)
            if d == last:
                clipped = np.ceil(clipped * (touched.shape.item / LINE_BYTES))
            lines = lines * clipped
        size = lines * touched.outside
        name = touched.access.buffer
        seen[name] = np.maximum(seen[name], size) if name in seen else size
    return sum(seen.values(), np.zeros((1, 1)))


def _traffic(sizes: Floats, loops: Sequence[Loop], target: Target) -> tuple[Floats, Floats, Floats]:
    """Bytes loaded into a cache: what the outermost loop whose body fits into it touches, once for
    each iteration of the loops further out."""
    points = max(sizes.shape[1], *(len(loop.extent) for loop in loops)) if loops else 1
    around = np.ones((len(loops) + 1, points))
    for at, loop in enumerate(loops):
        around[at + 1] = around[at] * loop.extent
    moved = around * sizes
    # Past the innermost loop everything fits.
    inside = np.concatenate([sizes[1:], np.zeros((1, sizes.shape[1]))])
    rooms = np.array([[[target.l1_bytes]], [[target.l2_bytes]], [[target.l3_bytes]]])
    first = np.argmax(inside <= rooms, axis=1)
    l1, l2, l3 = moved[first, np.arange(points)]
    return l1, l2, l3
