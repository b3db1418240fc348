"""The steps of a schedule, applied to the nests of a whole population.

Every step does to `Kernel` what the primitive of that name does to a program, with sizes that are
arrays: the nests of a replayed kernel are the nests of the concretely scheduled program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tuner.features import staging
from tuner.features.nest import Dim, Guard, Kernel, Loop, Nest
from tuner.ir.nodes import LoopKind
from tuner.schedule.loop_steps import Bind, Parallel, Prefetch
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
    step_name,
)
from tuner.space.knobs import Columns, evaluate


def replay(kernel: Kernel, schedule: Schedule, values: Columns) -> Kernel:
    """`kernel` after all steps; `values` are the knobs that sizes in the steps refer to.

    Raises TypeError for a step that no space makes.
    """
    for step in schedule:
        replayed = _STEPS.get(type(step))
        if replayed is None:
            raise TypeError(f"{step_name(step)} has no features: a space that makes it needs them")
        kernel = replayed(kernel, step, values)
    return kernel


def _split(kernel: Kernel, step: Split, values: Columns) -> Kernel:
    factor = evaluate(step.factor, values)

    def in_dim(dim: Dim) -> Dim:
        if step.loop not in dim.steps:
            return dim
        rest = {name: s for name, s in dim.steps.items() if name != step.loop}
        by = dim.steps[step.loop]
        return Dim({**rest, step.outer: by * factor, step.inner: by}, dim.modulus)

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
        split = nest.with_loops(tuple(loops)).with_accesses(lambda access: access.map(in_dim))
        return replace(split, guards=_split_guards(nest, step))

    return kernel.each(in_nest)


def _split_guards(nest: Nest, step: Split) -> tuple[Guard, ...]:
    """One guard for all that was split from a loop: what passes is what there was before."""
    over = next((g for g in nest.guards if step.loop in g.loops), None)
    loops = frozenset((step.loop,)) if over is None else over.loops
    before = nest.iterations(loops)
    passes = before if over is None else np.minimum(over.passes, before)
    rest = tuple(guard for guard in nest.guards if guard is not over)
    return (*rest, Guard(loops - {step.loop} | {step.outer, step.inner}, passes))


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
        return nest.with_loops(loops)

    return kernel.each(in_nest)


def _annotate(kernel: Kernel, loop: str, kind: LoopKind) -> Kernel:
    def in_nest(nest: Nest) -> Nest:
        if not nest.has(loop):
            return nest
        loops = [Loop(x.name, x.extent, kind) if x.name == loop else x for x in nest.loops]
        return nest.with_loops(tuple(loops))

    return kernel.each(in_nest)


def _unroll(kernel: Kernel, step: Unroll, values: Columns) -> Kernel:
    del values
    return _annotate(kernel, step.loop, LoopKind.UNROLLED)


def _vectorize(kernel: Kernel, step: Vectorize, values: Columns) -> Kernel:
    del values
    return _annotate(kernel, step.loop, LoopKind.VECTORIZED)


def _parallel(kernel: Kernel, step: Parallel, values: Columns) -> Kernel:
    """No space makes a loop parallel in which the workspace holds something private: its buffers
    keep their sizes."""
    del values
    return _annotate(kernel, step.loop, LoopKind.PARALLEL)


def _prefetch(kernel: Kernel, step: Prefetch, values: Columns) -> Kernel:
    """A hint: what is computed, and what moves, stay as they are."""
    del step, values
    return kernel


def _bind(kernel: Kernel, step: Bind, values: Columns) -> Kernel:
    del values
    return _annotate(kernel, step.loop, LoopKind(step.axis))


_STEPS: Mapping[type, Callable[[Kernel, Any, Columns], Kernel]] = {
    Split: _split,
    Tile: _tile,
    Reorder: _reorder,
    Unroll: _unroll,
    Vectorize: _vectorize,
    Parallel: _parallel,
    Prefetch: _prefetch,
    Bind: _bind,
    CacheWrite: staging.cache_write,
    Pack: staging.pack,
    ComputeAt: staging.compute_at,
    DecomposeReduction: staging.decompose,
    Rfactor: staging.rfactor,
}
