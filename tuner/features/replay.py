"""The steps of a schedule, applied to the nests of a whole population.

Every step does to `Kernel` what the primitive of that name does to a program, with sizes that are
arrays: the nests of a replayed kernel are the nests of the concretely scheduled program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np

from tuner.features.nest import Access, Dim, Kernel, Loop, Nest, Shape
from tuner.ir.nodes import LoopKind
from tuner.schedule.steps import (
    CacheWrite,
    ComputeAt,
    DecomposeReduction,
    Pack,
    Reorder,
    Rfactor,
    Schedule,
    Split,
    Tile,
    Unroll,
    Vectorize,
)
from tuner.space.knobs import Columns, Floats, evaluate

_ONE = np.ones(1)


def replay(kernel: Kernel, schedule: Schedule, values: Columns) -> Kernel:
    """`kernel` after all steps; `values` are the knobs that sizes in the steps refer to."""
    for step in schedule:
        kernel = _STEPS[type(step)](kernel, step, values)
    return kernel


def _each(kernel: Kernel, change: Callable[[Nest], Nest]) -> Kernel:
    return replace(kernel, nests=tuple(change(nest) for nest in kernel.nests))


def _split(kernel: Kernel, step: Split, values: Columns) -> Kernel:
    factor = evaluate(step.factor, values)

    def in_dim(dim: Dim) -> Dim:
        if step.loop not in dim.steps:
            return dim
        rest = {name: s for name, s in dim.steps.items() if name != step.loop}
        by = dim.steps[step.loop]
        return replace(dim, steps={**rest, step.outer: by * factor, step.inner: by})

    def in_access(access: Access) -> Access:
        return replace(access, dims=tuple(in_dim(d) for d in access.dims))

    def in_nest(nest: Nest) -> Nest:
        if not nest.has(step.loop):
            return nest
        loops: list[Loop] = []
        for loop in nest.loops:
            if loop.name == step.loop:
                loops.append(Loop(step.outer, np.ceil(loop.extent / factor)))
                loops.append(Loop(step.inner, factor))
            else:
                loops.append(loop)
        reads = tuple(in_access(r) for r in nest.reads)
        return replace(nest, loops=tuple(loops), write=in_access(nest.write), reads=reads)

    return _each(kernel, in_nest)


def _tile(kernel: Kernel, step: Tile, values: Columns) -> Kernel:
    for parts in zip(step.loops, step.factors, step.outer, step.inner, strict=True):
        kernel = _split(kernel, Split(*parts), values)
    return _reorder(kernel, Reorder((*step.outer, *step.inner)), values)


def _reorder(kernel: Kernel, step: Reorder, values: Columns) -> Kernel:
    del values

    def in_nest(nest: Nest) -> Nest:
        by_name = {loop.name: loop for loop in nest.loops}
        if not all(name in by_name for name in step.loops):
            return nest
        moving = iter(step.loops)
        loops = tuple(
            by_name[next(moving)] if loop.name in step.loops else loop for loop in nest.loops
        )
        return replace(nest, loops=loops)

    return _each(kernel, in_nest)


def _annotate(kernel: Kernel, loop: str, kind: LoopKind) -> Kernel:
    def in_nest(nest: Nest) -> Nest:
        loops = tuple(replace(x, kind=kind) if x.name == loop else x for x in nest.loops)
        return replace(nest, loops=loops)

    return _each(kernel, in_nest)


def _unroll(kernel: Kernel, step: Unroll, values: Columns) -> Kernel:
    del values
    return _annotate(kernel, step.loop, LoopKind.UNROLLED)


def _vectorize(kernel: Kernel, step: Vectorize, values: Columns) -> Kernel:
    del values
    return _annotate(kernel, step.loop, LoopKind.VECTORIZED)


def _touched(
    kernel: Kernel, buffer: str, loop: str, writes: bool
) -> tuple[list[int], tuple[Floats, ...]]:
    """Positions of the nests under `loop` that touch `buffer`, and the box that they touch while
    the loops inside of `loop` run. Without `writes` only reads count."""
    found, box = [], None
    for position, nest in enumerate(kernel.nests):
        accesses = nest.accesses() if writes else nest.reads
        accesses = tuple(a for a in accesses if a.buffer == buffer)
        if not nest.has(loop) or not accesses:
            continue
        found.append(position)
        for access in accesses:
            spans = [dim.span(nest.inside(loop)) for dim in access.dims]
            box = (
                spans
                if box is None
                else [np.maximum(a, b) for a, b in zip(box, spans, strict=True)]
            )
    assert box is not None, f"no nest under {loop!r} touches {buffer!r}"
    return found, tuple(box)


def _only(dim: Dim, loops: tuple[Loop, ...]) -> Dim:
    names = {loop.name for loop in loops}
    return replace(dim, steps={name: s for name, s in dim.steps.items() if name in names})


def _redirect(
    kernel: Kernel,
    positions: list[int],
    buffer: str,
    loop: str,
    new: Callable[[Access, tuple[Loop, ...]], Access],
) -> list[Nest]:
    """The nests, with the accesses of `buffer` at `positions` replaced by `new` of the access and
    the loops inside of `loop`."""
    nests = list(kernel.nests)
    for position in positions:
        nest = nests[position]
        inner = nest.inside(loop)

        def swap(access: Access, inner: tuple[Loop, ...] = inner) -> Access:
            return new(access, inner) if access.buffer == buffer else access

        reads = tuple(swap(r) for r in nest.reads)
        nests[position] = replace(nest, write=swap(nest.write), reads=reads)
    return nests


def _outer_steps(nest: Nest, buffer: str, loop: str) -> tuple[Dim, ...]:
    """How the tile of `buffer` moves with `loop` and the loops around it."""
    outer = nest.loops[: len(nest.loops) - len(nest.inside(loop))] if loop else ()
    access = next(a for a in nest.accesses() if a.buffer == buffer)
    return tuple(_only(dim, outer) for dim in access.dims)


def _around(nest: Nest, loop: str) -> tuple[Loop, ...]:
    return nest.loops[: len(nest.loops) - len(nest.inside(loop))] if loop else ()


def _plus(dim: Dim, loop: str, by: Floats) -> Dim:
    return replace(dim, steps={**dim.steps, loop: by})


def _cache_write(kernel: Kernel, step: CacheWrite, values: Columns) -> Kernel:
    del values
    found, box = _touched(kernel, step.buffer, step.loop, writes=True)
    order = step.order or tuple(range(len(box)))
    item = kernel.shapes[step.buffer].item
    shape = Shape(tuple(box[d] for d in order), item, tile=True)

    def cached(access: Access, inner: tuple[Loop, ...]) -> Access:
        return Access(step.cache, tuple(_only(access.dims[d], inner) for d in order))

    nests = _redirect(kernel, found, step.buffer, step.loop, cached)
    first = kernel.nests[found[0]]
    moves = _outer_steps(first, step.buffer, step.loop)

    def copy(names: tuple[str, ...], back: bool) -> Nest:
        loops = tuple(Loop(name, size) for name, size in zip(names, box, strict=True))
        far = Access(
            step.buffer, tuple(_plus(m, n, _ONE) for m, n in zip(moves, names, strict=True))
        )
        near = Access(step.cache, tuple(Dim({names[d]: _ONE}) for d in order))
        write, read = (far, near) if back else (near, far)
        return Nest((*_around(first, step.loop), *loops), write, (read,), False, 0.0, 0.0)

    nests.insert(found[-1] + 1, copy(step.store_loops, back=True))
    if step.load_loops:
        nests.insert(found[0], copy(step.load_loops, back=False))
    return Kernel(tuple(nests), {**kernel.shapes, step.cache: shape})


def _pack(kernel: Kernel, step: Pack, values: Columns) -> Kernel:
    found, box = _touched(kernel, step.buffer, step.loop, writes=False)
    axes = [_axis(text, values) for text in step.layout]
    sizes = []
    for of, kind, factor in axes:
        sizes.append({"": box[of], "//": np.ceil(box[of] / factor), "%": factor}[kind])
    item = kernel.shapes[step.buffer].item

    def packed_dim(dim: Dim, kind: str, factor: Floats) -> Dim:
        if kind == "//":
            return Dim({name: s / factor for name, s in dim.steps.items()})
        return Dim(dim.steps, factor if kind == "%" else None)

    def packed(access: Access, inner: tuple[Loop, ...]) -> Access:
        dims = tuple(packed_dim(_only(access.dims[of], inner), k, f) for of, k, f in axes)
        return Access(step.packed, dims)

    nests = _redirect(kernel, found, step.buffer, step.loop, packed)
    first = kernel.nests[found[0]]
    source = list(_outer_steps(first, step.buffer, step.loop))
    for (of, kind, factor), name in zip(axes, step.loops, strict=True):
        source[of] = _plus(source[of], name, factor if kind == "//" else _ONE)
    loops = tuple(Loop(name, size) for name, size in zip(step.loops, sizes, strict=True))
    write = Access(step.packed, tuple(Dim({name: _ONE}) for name in step.loops))
    read = Access(step.buffer, tuple(source))
    copy = Nest((*_around(first, step.loop), *loops), write, (read,), False, 0.0, 0.0)
    around = step.loop or first.loops[0].name
    at = next(i for i, nest in enumerate(kernel.nests) if nest.has(around))
    nests.insert(at, copy)
    return Kernel(tuple(nests), {**kernel.shapes, step.packed: Shape(tuple(sizes), item)})


def _axis(text: str, values: Columns) -> tuple[int, str, Floats]:
    """Dimension, kind and factor of one axis of a layout."""
    for kind in ("//", "%"):
        if kind in text:
            of, factor = text.split(kind)
            return int(of), kind, evaluate(factor, values)
    return int(text), "", _ONE


def _compute_at(kernel: Kernel, step: ComputeAt, values: Columns) -> Kernel:
    del values
    found, box = _touched(kernel, step.buffer, step.loop, writes=False)
    order = step.order or tuple(range(len(box)))
    consumer = kernel.nests[found[0]]
    moves = _outer_steps(consumer, step.buffer, step.loop)
    around = _around(consumer, step.loop)

    def read_tile(access: Access, inner: tuple[Loop, ...]) -> Access:
        return Access(step.buffer, tuple(_only(access.dims[d], inner) for d in order))

    nests = _redirect(kernel, found, step.buffer, step.loop, read_tile)
    moved = [n for n in nests if n.write.buffer == step.buffer]
    stays = [n for n in nests if n.write.buffer != step.buffer]
    at = next(i for i, n in enumerate(stays) if n is nests[found[0]])
    stays[at:at] = [_shrunk(n, box, order, moves, around) for n in moved]
    item = kernel.shapes[step.buffer].item
    shape = Shape(tuple(box[d] for d in order), item, tile=True)
    return Kernel(tuple(stays), {**kernel.shapes, step.buffer: shape})


def _shrunk(
    nest: Nest,
    box: tuple[Floats, ...],
    order: tuple[int, ...],
    moves: tuple[Dim, ...],
    around: tuple[Loop, ...],
) -> Nest:
    """A producer that runs over one tile: its spatial loops count from the tile's corner."""
    spatial = {name: d for d, dim in enumerate(nest.write.dims) for name in dim.steps}
    loops = tuple(
        replace(x, extent=box[spatial[x.name]]) if x.name in spatial else x for x in nest.loops
    )

    def shifted(dim: Dim) -> Dim:
        steps = dict(dim.steps)
        for name, by in dim.steps.items():
            if name in spatial:
                for outer, move in moves[spatial[name]].steps.items():
                    steps[outer] = steps.get(outer, np.zeros(1)) + by * move
        return replace(dim, steps=steps)

    write = Access(nest.write.buffer, tuple(nest.write.dims[d] for d in order))
    reads = tuple(Access(r.buffer, tuple(shifted(d) for d in r.dims)) for r in nest.reads)
    return replace(nest, loops=(*around, *loops), write=write, reads=reads)


def _decompose(kernel: Kernel, step: DecomposeReduction, values: Columns) -> Kernel:
    del values

    def in_nest(nest: Nest) -> Nest:
        if nest.reduces or nest.write.buffer != step.buffer or not nest.has(step.loop):
            return nest
        inner = nest.loops[len(_around(nest, step.loop)) - 1 :]
        names = dict(zip((x.name for x in inner), step.names, strict=True))
        loops = tuple(replace(x, name=names.get(x.name, x.name)) for x in nest.loops)
        dims = tuple(
            Dim({names.get(name, name): s for name, s in dim.steps.items()}, dim.modulus)
            for dim in nest.write.dims
        )
        return replace(nest, loops=loops, write=Access(step.buffer, dims))

    return _each(kernel, in_nest)


def _rfactor(kernel: Kernel, step: Rfactor, values: Columns) -> Kernel:
    del values
    at = next(i for i, n in enumerate(kernel.nests) if n.has(step.loop))
    nest = kernel.nests[at]
    named = {name for dim in nest.write.dims for name in dim.steps}
    others = {x.name for i, n in enumerate(kernel.nests) if i != at for x in n.loops}
    inward = [x for x in nest.loops if x not in nest.inside(step.loop)]
    private = list(
        takewhile(lambda x: x.name not in named and x.name not in others, reversed(inward))
    )
    outer = tuple(inward[: len(inward) - len(private)])
    extent = inward[-1].extent

    def partial(loop: str) -> Access:
        return Access(step.cache, (Dim({loop: _ONE}),))

    start = Nest((*outer, Loop(step.init_loop, extent)), partial(step.init_loop), (), False, 0, 0)
    middle = replace(nest, write=partial(step.loop))
    end = Nest(
        (*outer, Loop(step.final_loop, extent)), nest.write, (partial(step.final_loop),), True, 1, 0
    )
    nests = list(kernel.nests)
    nests[at : at + 1] = [start, middle, end]
    item = kernel.shapes[nest.write.buffer].item
    return Kernel(tuple(nests), {**kernel.shapes, step.cache: Shape((extent,), item, tile=True)})


_STEPS: Mapping[type, Callable[[Kernel, Any, Columns], Kernel]] = {
    Split: _split,
    Tile: _tile,
    Reorder: _reorder,
    Unroll: _unroll,
    Vectorize: _vectorize,
    CacheWrite: _cache_write,
    Pack: _pack,
    ComputeAt: _compute_at,
    DecomposeReduction: _decompose,
    Rfactor: _rfactor,
}
