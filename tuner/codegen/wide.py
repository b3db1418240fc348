"""A cheap schedule for the wide reference: loops ordered so that memory is walked in sequence."""

from __future__ import annotations

from math import prod

from tuner.errors import ScheduleError
from tuner.ir.affine import linear
from tuner.ir.nodes import Expr, For, Load, Program, Store
from tuner.ir.visit import Body, loops, stmt_exprs, unbound, walk, walk_exprs
from tuner.schedule.apply import apply
from tuner.schedule.steps import DecomposeReduction, Reorder, Schedule, Step


def in_sequence(program: Program) -> Program:
    """`program` with the start values of reductions in nests of their own, and with the loop that
    moves through memory in the smallest steps innermost, both where that is legal."""
    program = unbound(program)
    for loop in [s for s in program.body if isinstance(s, For)]:
        program = _decomposed(program, loop)
    for loop in loops(program.body):
        if chain := _perfect_chain(loop):
            program = _tried(program, Reorder(_order(program, chain)))
    return program


def _tried(program: Program, step: Step) -> Program:
    schedule: Schedule = (step,)
    try:
        return apply(program, schedule)
    except ScheduleError:
        return program


def _decomposed(program: Program, loop: For) -> Program:
    """Takes the start values at the end of the chain of loops from `loop` on out of it."""
    names, body = [loop.var], loop.body
    while len(body) == 1 and isinstance(body[0], For):
        names.append(body[0].var)
        body = body[0].body
    starts = [s.buffer for s in body if isinstance(s, Store) and s.reduce is None]
    if not any(isinstance(s, For) for s in body):
        return program
    for buffer in starts:
        fresh = tuple(f"{name}_{buffer}" for name in names)
        program = _tried(program, DecomposeReduction(buffer, loop.var, fresh))
    return program


def _perfect_chain(loop: For) -> tuple[For, ...]:
    """The loops from `loop` down to a body of stores alone; () unless there are two or more."""
    chain = [loop]
    while len(chain[-1].body) == 1 and isinstance(chain[-1].body[0], For):
        chain.append(chain[-1].body[0])
    plain = not any(isinstance(s, For) for s in walk(chain[-1].body))
    return tuple(chain) if plain and len(chain) > 1 else ()


def _order(program: Program, chain: tuple[For, ...]) -> tuple[str, ...]:
    """The loops of `chain`, that with the fewest strided accesses moved to the end."""
    names = [loop.var for loop in chain]
    best = min(reversed(names), key=lambda v: _strided(program, chain[-1].body, v))
    return (*(n for n in names if n != best), best)


def _strided(program: Program, body: Body, var: str) -> int:
    """Accesses in `body` that move by more than one element when `var` moves by one."""
    shapes = {b.name: b.shape for b in program.buffers()}
    found: list[tuple[str, tuple[Expr, ...]]] = []
    for stmt in walk(body):
        if isinstance(stmt, Store):
            found.append((stmt.buffer, stmt.indices))
        for expr in stmt_exprs(stmt):
            found += [(n.buffer, n.indices) for n in walk_exprs(expr) if isinstance(n, Load)]
    return sum(_stride(indices, shapes[name], var) > 1 for name, indices in found)


def _stride(indices: tuple[Expr, ...], shape: tuple[int, ...], var: str) -> int:
    steps = (
        linear(index).coefficient(var) * prod(shape[position + 1 :])
        for position, index in enumerate(indices)
    )
    return abs(sum(steps))
