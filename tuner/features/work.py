"""What one nest costs a processor: instructions, registers, threads, and its memory.

The body of a nest is its innermost loops that are unrolled or vectorized; it becomes straight code
and is run once for each iteration of the serial loops around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tuner.features.accesses import (
    ONE,
    ZERO,
    Moves,
    count,
    executed_share,
    moves_of,
    operand_registers,
    tail_share,
    touched_of,
    uses,
)
from tuner.features.memory import Memory, memory_of
from tuner.features.nest import Kernel, Loop, Nest
from tuner.ir.nodes import LoopKind
from tuner.space.knobs import Floats
from tuner.target import Target

#: Instructions of a transcendental function in vectors, roughly.
COSTLY_INSTRUCTIONS = 16.0
#: Cycles from one accumulation to the next into the same register.
LATENCY = 4.0


@dataclass(frozen=True, slots=True)
class Threads:
    """How a nest is spread over threads and blocks, [points] or [1]."""

    #: threads busy on average, 1 without a parallel loop
    busy: Floats
    #: iterations that threads share, and times that they begin to
    chunks: Floats
    teams: Floats
    #: blocks of the grid, threads of each, and iterations of each thread
    blocks: Floats
    in_block: Floats
    each: Floats


@dataclass(frozen=True, slots=True)
class NestWork:
    """Totals of one nest over all its iterations, [points] or [1]."""

    iterations: Floats
    #: share of them that guards let pass
    executed: Floats
    #: iterations of serial loops at all depths
    loop_iterations: Floats
    #: times the body is run
    bodies: Floats
    #: operations issued, and the costly ones of them
    flops: Floats
    costly: Floats
    #: vector instructions of arithmetic; scalar ones where the nest has no vectors
    arithmetic: Floats
    #: cycles that its instructions and its waiting take at least
    cycles: Floats
    #: load and store instructions of one body
    moves: Moves
    #: cycles that accumulations into the same register wait for each other, at least
    waiting: Floats
    #: statements that the body is written out to
    statements: Floats
    #: vector registers that hold tiles and operands in the body
    registers: Floats
    accumulators: Floats
    #: iterations of the innermost serial loop, and of the outermost
    inner: Floats
    outer: Floats
    #: lanes that are used of each vector
    lanes: Floats
    #: 1 where they are accumulated into one element
    horizontal: Floats
    #: share of the elements along vectors that a ragged last tile holds
    tail: Floats
    memory: Memory
    threads: Threads


def work_of(kernel: Kernel, nest: Nest, target: Target) -> NestWork:
    """The work of one nest."""
    body, serial = _body(nest)
    vector = [loop for loop in body if loop.kind is LoopKind.VECTORIZED]
    width = float(target.vector_bits // 8 // kernel.shapes[nest.write.buffer].item)
    lanes = np.minimum(count(vector), width) if vector else ONE
    bodies = count(serial)
    iterations = bodies * count(body)
    touched = touched_of(kernel, nest, target)
    moves = moves_of(nest, touched, body, width)
    cheap = nest.cheap - (1.0 if nest.reduces and nest.cheap >= 2 else 0.0)
    own = count([x for x in body if uses(nest.write, x) and x not in vector])
    chain = count([x for x in body if not uses(nest.write, x) and x not in vector])
    arithmetic = iterations / lanes * (cheap + COSTLY_INSTRUCTIONS * nest.costly)
    waiting = bodies * chain * LATENCY if nest.reduces else ZERO
    moving = bodies * (moves.loads / 2 + moves.stores)
    return NestWork(
        iterations=iterations,
        executed=executed_share(nest),
        loop_iterations=sum((count(serial[: at + 1]) for at in range(len(serial))), ZERO),
        bodies=bodies,
        flops=iterations * (nest.cheap + nest.costly),
        costly=iterations * nest.costly,
        arithmetic=arithmetic,
        cycles=np.maximum(np.maximum(arithmetic / target.vectors_per_cycle, waiting), moving),
        moves=moves,
        waiting=waiting,
        statements=count(body) / lanes,
        registers=own + operand_registers(nest, body),
        accumulators=own,
        inner=serial[-1].extent if serial else ONE,
        outer=serial[0].extent if serial else ONE,
        lanes=lanes,
        horizontal=ONE if vector and not any(uses(nest.write, x) for x in vector) else ZERO,
        tail=tail_share(nest, body),
        memory=memory_of(touched, nest.loops, len(serial), target),
        threads=_threads(serial, iterations, target),
    )


def _threads(serial: Sequence[Loop], iterations: Floats, target: Target) -> Threads:
    """The last round of a parallel loop may leave some threads without work."""
    busy, chunks, teams = ONE, ONE, ZERO
    for at, loop in enumerate(serial):
        if loop.kind is LoopKind.PARALLEL:
            busy = loop.extent / np.ceil(loop.extent / target.threads)
            chunks, teams = loop.extent, count(serial[:at])
            break
    blocks = count([loop for loop in serial if loop.kind.is_block])
    in_block = count([loop for loop in serial if loop.kind.is_thread])
    return Threads(busy, chunks, teams, blocks, in_block, iterations / (blocks * in_block))


def _body(nest: Nest) -> tuple[list[Loop], list[Loop]]:
    """The straight-line loops at the bottom, and the loops around them."""
    at = len(nest.loops)
    while at and nest.loops[at - 1].kind in (LoopKind.UNROLLED, LoopKind.VECTORIZED):
        at -= 1
    return list(nest.loops[at:]), list(nest.loops[:at])
