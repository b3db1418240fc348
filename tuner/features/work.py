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


#: An access with 1 at each point where it goes to memory, 0 where it stays in registers.
Weighted = tuple[Access, Floats]


def work_of(kernel: Kernel, nest: Nest, target: Target) -> NestWork:
    """The work of one nest."""
    body, serial = _body(nest)
    vector = [loop for loop in body if loop.kind is LoopKind.VECTORIZED]
    width = float(target.vector_bits // 8 // kernel.shapes[nest.write.buffer].item)
    lanes = np.minimum(_product(vector), width) if vector else np.ones(1)
    bodies = _product(serial)
    iterations = bodies * _product(body)
    write, *reads = ((a, _in_memory(kernel.shapes[a.buffer], target)) for a in nest.accesses())
    memory = (write, *reads)
    stored = write[1] * _moves(write[0], body, width)
    loaded = sum((m * _moves(a, body, width) for a, m in reads), np.zeros(1))
    cheap = nest.cheap - (1.0 if nest.reduces and nest.cheap >= 2 else 0.0)
    own = [x for x in body if _uses(nest.write, x) and x not in vector]
    touched = _bytes(kernel, memory, nest.loops)
    at = [max(len(serial) - depth, 0) for depth in (1, 2, 3)]
    chain = _product([x for x in body if not _uses(nest.write, x) and x not in vector])
    return NestWork(
        iterations=iterations,
        bodies=bodies,
        arithmetic=iterations / lanes * (cheap + COSTLY_INSTRUCTIONS * nest.costly),
        loads=bodies * (loaded + (stored if nest.reduces else 0.0)),
        stores=bodies * stored,
        waiting=bodies * chain * LATENCY if nest.reduces else np.zeros(1),
        scattered=bodies * sum((m * _scattered(a, body, width) for a, m in memory), np.zeros(1)),
        statements=_product(body) / lanes,
        registers=_product(own) + _operand_registers(nest, body),
        accumulators=_product(own),
        inner=serial[-1].extent if serial else np.ones(1),
        lanes=lanes,
        aliased=_aliased(kernel, memory, body),
        pages=_pages(kernel, memory, nest.loops[at[0] :]),
        footprints=(touched[at[0]], touched[at[1]], touched[at[2]]),
        traffic=_traffic(touched, nest.loops, target),
    )


def _in_memory(shape: Shape, target: Target) -> Floats:
    room = target.vector_registers * target.vector_bits // 8
    outside = shape.bytes() > room if shape.tile else np.ones(1)
    return np.asarray(outside, dtype=np.float64)


def _body(nest: Nest) -> tuple[list[Loop], list[Loop]]:
    """The straight-line loops at the bottom, and the loops around them."""
    at = len(nest.loops)
    while at and nest.loops[at - 1].kind is not LoopKind.SERIAL:
        at -= 1
    return list(nest.loops[at:]), list(nest.loops[:at])


def _product(loops: Sequence[Loop]) -> Floats:
    out = np.ones(1)
    for loop in loops:
        out = out * loop.extent
    return out


def _uses(access: Access, loop: Loop) -> bool:
    return any(loop.name in dim.steps for dim in access.dims)


def _contiguous(access: Access, loop: Loop) -> bool:
    """Whether the access moves by one element with `loop`."""
    moving = [d for d, dim in enumerate(access.dims) if bool(np.any(dim.span((loop,)) > 1))]
    last = len(access.dims) - 1
    return moving == [last] and bool(np.all(access.dims[last].step(loop.name) == 1))


def _moves(access: Access, body: Sequence[Loop], width: float) -> Floats:
    """Load or store instructions in one body, each element moved once."""
    count = np.ones(1)
    for loop in body:
        if not _uses(access, loop):
            continue
        packed = loop.kind is LoopKind.VECTORIZED and _contiguous(access, loop)
        count = count * (np.ceil(loop.extent / width) if packed else loop.extent)
    return count


def _scattered(access: Access, body: Sequence[Loop], width: float) -> Floats:
    vector = [x for x in body if x.kind is LoopKind.VECTORIZED and _uses(access, x)]
    if not vector or _contiguous(access, vector[-1]):
        return np.zeros(1)
    return _moves(access, body, width)


def _operand_registers(nest: Nest, body: Sequence[Loop]) -> Floats:
    """One register for each vector that an operand has in the tile, one for each other operand."""
    count = np.zeros(1)
    for access in nest.reads:
        vector = [x for x in body if x.kind is LoopKind.VECTORIZED and _uses(access, x)]
        wide = [x for x in body if _uses(access, x) and _uses(nest.write, x) and x not in vector]
        count = count + (_product(wide) if vector else 1.0)
    return count


def _lines(kernel: Kernel, access: Access, loops: Sequence[Loop]) -> list[Floats]:
    """Cache lines of the box that `loops` touch, clipped to the buffer; then of all loops but the
    first, and so on."""
    shape = kernel.shapes[access.buffer]
    rows = [np.ones(1)] * (len(loops) + 1)
    last = len(access.dims) - 1
    for d, (dim, extent) in enumerate(zip(access.dims, shape.extents, strict=True)):
        spans = [np.minimum(span, extent) for span in dim.spans(loops)]
        if d == last:
            spans = [np.ceil(span * shape.item / LINE_BYTES) for span in spans]
        rows = [a * b for a, b in zip(rows, spans, strict=True)]
    return rows


def _row_bytes(shape: Shape, dim: int) -> Floats:
    """Bytes from one element to the next along `dim`."""
    size = np.full(1, float(shape.item))
    for extent in shape.extents[dim + 1 :]:
        size = size * extent
    return size


def _aliased(kernel: Kernel, memory: Sequence[Weighted], body: Sequence[Loop]) -> Floats:
    worst = np.ones(1)
    for access, outside in memory:
        shape = kernel.shapes[access.buffer]
        for d, dim in enumerate(access.dims[:-1]):
            rows = outside * dim.span(body)
            stride = _row_bytes(shape, d)
            common = np.gcd(stride.astype(np.int64), int(ALIAS_BYTES)).astype(np.float64)
            worst = np.maximum(worst, rows / np.maximum(ALIAS_BYTES / common, 1.0))
    return worst


def _pages(kernel: Kernel, memory: Sequence[Weighted], loops: Sequence[Loop]) -> Floats:
    total = np.zeros(1)
    for access, outside in memory:
        shape = kernel.shapes[access.buffer]
        pages = outside
        for d, dim in enumerate(access.dims):
            span = np.minimum(dim.span(loops), shape.extents[d])
            reach = np.minimum(_row_bytes(shape, d) / PAGE_BYTES, 1.0)
            pages = pages * np.maximum(1.0, span * reach)
        total = total + pages
    return total


def _bytes(kernel: Kernel, memory: Sequence[Weighted], loops: Sequence[Loop]) -> list[Floats]:
    """Bytes of whole lines that `loops` touch, then all loops but the first, and so on; two
    accesses of one buffer count once."""
    seen: dict[str, list[Floats]] = {}
    for access, outside in memory:
        sizes = [outside * lines * LINE_BYTES for lines in _lines(kernel, access, loops)]
        known = seen.get(access.buffer, sizes)
        seen[access.buffer] = [np.maximum(a, b) for a, b in zip(known, sizes, strict=True)]
    return [sum(level, np.zeros(1)) for level in zip(*seen.values(), strict=True)]


def _traffic(
    touched: Sequence[Floats], loops: Sequence[Loop], target: Target
) -> tuple[Floats, Floats, Floats]:
    """Bytes loaded into a cache: what the outermost loop whose body fits into it touches, once for
    each iteration of the loops further out."""
    out = []
    for size in (target.l1_bytes, target.l2_bytes, target.l3_bytes):
        total = np.full(1, np.inf)
        around = np.ones(1)
        for at, loop in enumerate(loops):
            open_yet = np.isinf(total) & (touched[at + 1] <= size)
            total = np.where(open_yet, around * touched[at], total)
            around = around * loop.extent
        out.append(np.where(np.isinf(total), around * touched[-1], total))
    return out[0], out[1], out[2]
