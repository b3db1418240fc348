"""Replaying a schedule: each step by its rewrite, with errors that say which step and where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tuner.errors import ScheduleError
from tuner.ir.nodes import Program
from tuner.ir.show import show_body
from tuner.schedule.annotate import unroll, vectorize
from tuner.schedule.bind import bind
from tuner.schedule.cache import cache_write
from tuner.schedule.cache_read import cache_read
from tuner.schedule.compute_at import compute_at
from tuner.schedule.inline import inline
from tuner.schedule.loop_kinds import LoopChecks
from tuner.schedule.loop_steps import (
    AddUnitLoop,
    Annotate,
    Bind,
    Fuse,
    Parallel,
    Partition,
    Prefetch,
)
from tuner.schedule.loops import add_unit_loop, fuse, partition, reorder, split, tile
from tuner.schedule.memory_steps import (
    CacheRead,
    Inline,
    Pad,
    ReverseComputeAt,
    ReverseInline,
    SetScope,
    TransformLayout,
)
from tuner.schedule.notes import annotate, prefetch
from tuner.schedule.pack import pack
from tuner.schedule.pad import pad
from tuner.schedule.parallel import parallel
from tuner.schedule.reduction import decompose_reduction, rfactor
from tuner.schedule.reverse_compute_at import reverse_compute_at
from tuner.schedule.reverse_inline import reverse_inline
from tuner.schedule.set_scope import set_scope
from tuner.schedule.steps import (
    CacheWrite,
    ComputeAt,
    DecomposeReduction,
    Pack,
    Reorder,
    Rfactor,
    Schedule,
    Split,
    Step,
    Tile,
    Unroll,
    Vectorize,
    step_text,
)
from tuner.schedule.transform_layout import transform_layout

#: The rewrite behind each step; each takes a program and a step of its type.
REWRITES: dict[type[Step], Callable[[Program, Any], Program]] = {
    Split: split,
    Tile: tile,
    Reorder: reorder,
    Unroll: unroll,
    Vectorize: vectorize,
    Parallel: parallel,
    Fuse: fuse,
    Partition: partition,
    AddUnitLoop: add_unit_loop,
    Annotate: annotate,
    Prefetch: prefetch,
    Bind: bind,
    CacheWrite: cache_write,
    Pack: pack,
    ComputeAt: compute_at,
    DecomposeReduction: decompose_reduction,
    Rfactor: rfactor,
    ReverseComputeAt: reverse_compute_at,
    Inline: inline,
    ReverseInline: reverse_inline,
    CacheRead: cache_read,
    SetScope: set_scope,
    TransformLayout: transform_layout,
    Pad: pad,
}


def apply(program: Program, schedule: Schedule) -> Program:
    """`program` after every step. Raises ScheduleError at the first illegal one, with its position,
    its text and the loops that it was applied to."""
    return trace(program, schedule)[-1]


def trace(program: Program, schedule: Schedule) -> list[Program]:
    """`program`, then the program after each step. Raises as `apply`."""
    return [program, *_programs(program, schedule)]


def _programs(program: Program, schedule: Schedule) -> Iterator[Program]:
    checks = LoopChecks()
    for position, step in enumerate(schedule):
        try:
            program = REWRITES[type(step)](program, step)
            checks.check(program)
        except ScheduleError as error:
            loops = show_body(program.body)
            raise ScheduleError(error.message, step_text(step), loops, position) from error
        yield program
