"""The order of the passes from a scheduled program to what a code generator prints."""

from __future__ import annotations

from collections.abc import Callable

from tuner.ir.nodes import Program
from tuner.lower.bind_threads import bind_threads
from tuner.lower.drop_dead_stores import drop_dead_stores
from tuner.lower.flatten import flatten
from tuner.lower.insert_barriers import insert_barriers
from tuner.lower.partition_tails import partition_tails
from tuner.lower.place_buffers import place_buffers
from tuner.lower.private_tiles import private_tiles
from tuner.lower.privatize import privatize
from tuner.lower.promote_registers import promote_registers
from tuner.lower.share_loads import share_loads
from tuner.lower.simplify import simplify
from tuner.lower.threads import threads
from tuner.lower.transpose_lanes import transpose_lanes
from tuner.lower.unroll import unroll
from tuner.lower.vectorize import vectorize
from tuner.target import Target

Pass = Callable[[Program, Target], Program]

PASSES: tuple[Pass, ...] = (
    threads,
    private_tiles,
    bind_threads,
    place_buffers,
    partition_tails,
    simplify,
    flatten,
    privatize,
    vectorize,
    unroll,
    simplify,
    promote_registers,
    drop_dead_stores,
    transpose_lanes,
    share_loads,
    insert_barriers,
)


def lower(program: Program, target: Target) -> Program:
    """`program` after every pass: flat subscripts, lanes, no unrolled or vector loops."""
    for step in PASSES:
        program = step(program, target)
    return program
