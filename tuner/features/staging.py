"""Replays of the steps that make or move nests; see tuner.features.replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np

from tuner.features.nest import Access, Dim, Guard, Kernel, Loop, Nest, Shape
from tuner.schedule.steps import CacheWrite, ComputeAt, DecomposeReduction, Pack, Rfactor
from tuner.space.knobs import Bools, Columns, Floats, evaluate

_ONE = np.ones(1)


@dataclass(frozen=True, slots=True)
class _Tile:
    """The box of a buffer that is touched while the loops inside of one loop run."""

    #: positions of the nests that touch it, in order
    nests: tuple[int, ...]
    #: extent of each dimension
    box: tuple[Floats, ...]
    #: how each dimension moves with the loops around
    moves: tuple[Dim, ...]
    #: the loops around
    around: tuple[Loop, ...]


def _tile(kernel: Kernel, buffer: str, loop: str, *, writes: bool) -> _Tile:
    """The tile of `buffer` under `loop` ("": all of it); without `writes` only reads count."""
    found: list[int] = []
    spans: list[list[Floats]] = []
    for position, nest in enumerate(kernel.nests):
        accesses = [a for a in (nest.accesses() if writes else nest.reads) if a.buffer == buffer]
        if nest.has(loop) and accesses:
            found.append(position)
            spans += [[dim.span(nest.inside(loop)) for dim in a.dims] for a in accesses]
    box = [spans[0][d] for d in range(len(spans[0]))]
    for more in spans[1:]:
        box = [np.maximum(a, b) for a, b in zip(box, more, strict=True)]
    first = kernel.nests[found[0]]
    access = next(a for a in first.accesses() if a.buffer == buffer)
    around = first.around(loop)
    moves = tuple(dim.only(around) for dim in access.dims)
    return _Tile(tuple(found), tuple(box), moves, around)


def _redirected(
    kernel: Kernel, tile: _Tile, buffer: str, new: Callable[[Sequence[Dim]], Access]
) -> list[Nest]:
    """The nests, with `new` in place of the tile's accesses of `buffer`; it is given their
    subscripts without the loops around."""
    nests = list(kernel.nests)
    for position in tile.nests:
        nest = nests[position]
        inner = nest.loops[len(tile.around) :]

        def swap(access: Access, inner: tuple[Loop, ...] = inner) -> Access:
            if access.buffer != buffer:
                return access
            return new([dim.only(inner) for dim in access.dims])

        nests[position] = nest.with_accesses(swap)
    return nests


def cache_write(kernel: Kernel, step: CacheWrite, values: Columns) -> Kernel:
    """The tile in a cache, a nest that loads it where there are loops for that, one that stores."""
    del values
    tile = _tile(kernel, step.buffer, step.loop, writes=True)
    order = step.order or tuple(range(len(tile.box)))
    old = kernel.shapes[step.buffer]
    kernel = _relaxed(kernel, tile.nests, step.buffer)
    nests = _redirected(
        kernel, tile, step.buffer, lambda dims: Access(step.cache, tuple(dims[d] for d in order))
    )

    def copy(names: tuple[str, ...], *, back: bool) -> Nest:
        loops = (Loop(name, size) for name, size in zip(names, tile.box, strict=True))
        moved = zip(tile.moves, names, strict=True)
        far = Access(step.buffer, tuple(dim.plus(name, _ONE) for dim, name in moved))
        near = Access(step.cache, tuple(Dim({names[d]: _ONE}) for d in order))
        write, read = (far, near) if back else (near, far)
        guards = tuple(
            Guard(frozenset(dim.steps), extent)
            for dim, extent in zip(far.dims, old.extents, strict=True)
        )
        return Nest((*tile.around, *loops), write, (read,), False, 0.0, 0.0, guards)

    nests.insert(tile.nests[-1] + 1, copy(step.store_loops, back=True))
    if step.load_loops:
        nests.insert(tile.nests[0], copy(step.load_loops, back=False))
    item = kernel.shapes[step.buffer].item
    shape = Shape(tuple(tile.box[d] for d in order), item, tile=True)
    return Kernel(tuple(nests), {**kernel.shapes, step.cache: shape})


def _relaxed(kernel: Kernel, positions: Sequence[int], buffer: str) -> Kernel:
    """The kernel without the guards that only keep elements outside of `buffer` from being written
    by the nests at `positions`, where all that these read stays inside without them."""
    nests = list(kernel.nests)
    extents = kernel.shapes[buffer].extents
    for guard in {g.loops: g for p in positions for g in nests[p].guards}.values():
        keep: Bools = np.zeros(1, dtype=bool)
        for nest in (nests[p] for p in positions):
            dims = zip(nest.write.dims, extents, strict=True)
            over = [size for dim, size in dims if dim.steps.keys() == guard.loops]
            keep = keep | (over[0] != guard.passes if over else True)
            for read in nest.reads:
                if not read.selected and read.buffer != buffer:
                    keep = keep | _leaves(read, kernel.shapes[read.buffer], nest, guard)
        passes = np.where(keep, guard.passes, np.inf)
        for p in positions:
            guards = (
                Guard(g.loops, passes) if g.loops == guard.loops else g for g in nests[p].guards
            )
            nests[p] = replace(nests[p], guards=tuple(guards))
    return Kernel(tuple(nests), kernel.shapes)


def _leaves(read: Access, shape: Shape, nest: Nest, guard: Guard) -> Bools:
    """Where a subscript that moves with a guarded loop leaves the buffer without the guard."""
    out: Bools = np.zeros(1, dtype=bool)
    for dim, extent in zip(read.dims, shape.extents, strict=True):
        if guard.loops & dim.steps.keys():
            out = out | (dim.span(nest.loops) > extent)
    return out


def pack(kernel: Kernel, step: Pack, values: Columns) -> Kernel:
    """A copy of what is read, in the layout; reads go there."""
    tile = _tile(kernel, step.buffer, step.loop, writes=False)
    axes = [_axis(text, values) for text in step.layout]

    def packed(dims: Sequence[Dim]) -> Access:
        return Access(step.packed, tuple(_packed(dims[of], kind, f) for of, kind, f in axes))

    nests = _redirected(kernel, tile, step.buffer, packed)
    source = list(tile.moves)
    sizes = []
    for (of, kind, factor), name in zip(axes, step.loops, strict=True):
        source[of] = source[of].plus(name, factor if kind == "//" else _ONE)
        sizes.append({"": tile.box[of], "//": np.ceil(tile.box[of] / factor), "%": factor}[kind])
    loops = (Loop(name, size) for name, size in zip(step.loops, sizes, strict=True))
    write = Access(step.packed, tuple(Dim({name: _ONE}) for name in step.loops))
    # Where the layout rounds up, or the buffer was padded, the copy fills in.
    read = Access(step.buffer, tuple(source), selected=True)
    copy = Nest((*tile.around, *loops), write, (read,), False, 0.0, 0.0)
    scope = step.loop or kernel.nests[tile.nests[0]].loops[0].name
    nests.insert(next(i for i, nest in enumerate(kernel.nests) if nest.has(scope)), copy)
    shape = Shape(tuple(sizes), kernel.shapes[step.buffer].item)
    return Kernel(tuple(nests), {**kernel.shapes, step.packed: shape})


def _axis(text: str, values: Columns) -> tuple[int, str, Floats]:
    """Dimension, kind and factor of one axis of a layout."""
    for kind in ("//", "%"):
        if kind in text:
            of, factor = text.split(kind)
            return int(of), kind, evaluate(factor, values)
    return int(text), "", _ONE


def _packed(dim: Dim, kind: str, factor: Floats) -> Dim:
    if kind == "//":
        return Dim({name: step / factor for name, step in dim.steps.items()})
    return Dim(dim.steps, factor if kind == "%" else None)


def compute_at(kernel: Kernel, step: ComputeAt, values: Columns) -> Kernel:
    """The producer's nests over one tile, before the first nest that reads it."""
    del values
    tile = _tile(kernel, step.buffer, step.loop, writes=False)
    order = step.order or tuple(range(len(tile.box)))
    nests = _redirected(
        kernel, tile, step.buffer, lambda dims: Access(step.buffer, tuple(dims[d] for d in order))
    )
    reader = nests[tile.nests[0]]
    made = Kernel(tuple(n for n in nests if n.write.buffer == step.buffer), kernel.shapes)
    moved = made.each(lambda nest: _over_tile(nest, tile))
    moved = _relaxed(moved, range(len(moved.nests)), step.buffer)

    def within(nest: Nest) -> Nest:
        inner = nest.loops[len(tile.around) :]
        dims = tuple(nest.write.dims[d].only(inner) for d in order)
        return replace(nest, write=Access(step.buffer, dims))

    stays = [n for n in nests if n.write.buffer != step.buffer]
    at = next(i for i, nest in enumerate(stays) if nest is reader)
    stays[at:at] = moved.each(within).nests
    item = kernel.shapes[step.buffer].item
    shape = Shape(tuple(tile.box[d] for d in order), item, tile=True)
    return Kernel(tuple(stays), {**kernel.shapes, step.buffer: shape})


def _over_tile(nest: Nest, tile: _Tile) -> Nest:
    """A producer whose spatial loops count from the tile's corner, guarded where that leads past
    their end; its subscripts still are those of the whole buffer."""
    spatial = {name: d for d, dim in enumerate(nest.write.dims) for name in dim.steps}
    loops: list[Loop] = []
    guards = list(nest.guards)
    for x in nest.loops:
        if x.name in spatial:
            moves = tile.moves[spatial[x.name]].steps
            guards.append(Guard(frozenset((x.name, *moves)), x.extent))
            x = replace(x, extent=tile.box[spatial[x.name]])
        loops.append(x)

    def shifted(dim: Dim) -> Dim:
        for name, by in dim.steps.items():
            if name in spatial:
                for outer, move in tile.moves[spatial[name]].steps.items():
                    dim = dim.plus(outer, dim.steps.get(outer, np.zeros(1)) + by * move)
        return dim

    around = replace(nest, loops=(*tile.around, *loops), guards=tuple(guards))
    return around.with_accesses(lambda access: access.map(shifted))


def decompose(kernel: Kernel, step: DecomposeReduction, values: Columns) -> Kernel:
    """The start value's nest has loops of its own."""
    del values

    def in_nest(nest: Nest) -> Nest:
        if nest.reduces or nest.write.buffer != step.buffer or not nest.has(step.loop):
            return nest
        renamed = nest.loops[len(nest.around(step.loop)) - 1 :]
        names = {x.name: new for x, new in zip(renamed, step.names, strict=True)}
        loops = tuple(replace(x, name=names.get(x.name, x.name)) for x in nest.loops)

        def in_dim(dim: Dim) -> Dim:
            return replace(dim, steps={names.get(n, n): s for n, s in dim.steps.items()})

        guards = tuple(
            Guard(frozenset(names.get(n, n) for n in g.loops), g.passes) for g in nest.guards
        )
        around = replace(nest, loops=loops, guards=guards)
        return around.with_accesses(lambda access: access.map(in_dim))

    return kernel.each(in_nest)


def rfactor(kernel: Kernel, step: Rfactor, values: Columns) -> Kernel:
    """Partial results: their start, their accumulation, their sum."""
    del values
    at = next(i for i, nest in enumerate(kernel.nests) if nest.has(step.loop))
    nest = kernel.nests[at]
    named = {name for dim in nest.write.dims for name in dim.steps}
    shared = {x.name for i, n in enumerate(kernel.nests) if i != at for x in n.loops}
    inward = nest.around(step.loop)
    private = takewhile(lambda x: x.name not in named | shared, reversed(inward))
    outer = inward[: len(inward) - len(list(private))]
    extent = inward[-1].extent

    def partial(loop: str) -> Access:
        return Access(step.cache, (Dim({loop: _ONE}),))

    first, last = Loop(step.init_loop, extent), Loop(step.final_loop, extent)
    outside = {x.name for x in outer}
    guards = tuple(guard for guard in nest.guards if guard.loops <= outside)
    start = Nest((*outer, first), partial(first.name), (), False, 0.0, 0.0, guards)
    end = Nest((*outer, last), nest.write, (partial(last.name),), True, 1.0, 0.0, guards)
    nests = list(kernel.nests)
    nests[at : at + 1] = [start, replace(nest, write=partial(step.loop)), end]
    shape = Shape((extent,), kernel.shapes[nest.write.buffer].item, tile=True)
    return Kernel(tuple(nests), {**kernel.shapes, step.cache: shape})
