"""What depends on constants alone, taken out of a scheduled program to be done once, ahead.

A statement at the top of the program is done ahead if it reads only constant parameters and what
is made ahead, and writes only buffers in the workspace that

- nothing else writes, and
- nothing that stays reads before the last of those writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tuner.ir.nodes import Buffer, Program, Scope
from tuner.ir.visit import loads, stores


@dataclass(frozen=True, slots=True)
class Effects:
    """Names of the buffers that a statement reads and writes."""

    reads: frozenset[str]
    writes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Split:
    """Two programs that together mean what one did."""

    #: done once; its parameters are the constants and then the buffers that it hands over.
    #: None where nothing is to be done ahead
    ahead: Program | None
    #: done in each call; buffers that were made ahead follow its own parameters
    main: Program


def split_constants(program: Program) -> Split:
    """What of the scheduled `program` can be done ahead, and the rest."""
    constants = frozenset(b.name for b in program.params if b.const)
    effects = [
        Effects(
            frozenset(load.buffer for load in loads((stmt,))),
            frozenset(store.buffer for store in stores((stmt,))),
        )
        for stmt in program.body
    ]
    workspace = frozenset(b.name for b in program.locals if b.scope is Scope.GLOBAL)
    first = done_ahead(effects, constants, workspace)
    if not first:
        return Split(None, program)
    made = frozenset(name for at in first for name in effects[at].writes)
    wanted = frozenset(name for at, e in enumerate(effects) if at not in first for name in e.reads)
    handed = tuple(replace(b, scope=Scope.PARAM) for b in program.locals if b.name in made & wanted)
    ahead = Program(
        program.name,
        (*(b for b in program.params if b.const), *handed),
        _kept(program, lambda name: name in made - wanted),
        tuple(stmt for at, stmt in enumerate(program.body) if at in first),
    )
    main = Program(
        program.name,
        (*program.params, *(replace(b, const=True) for b in handed)),
        _kept(program, lambda name: name not in made),
        tuple(stmt for at, stmt in enumerate(program.body) if at not in first),
    )
    return Split(ahead, main)


def _kept(program: Program, keep: Callable[[str], bool]) -> tuple[Buffer, ...]:
    return tuple(b for b in program.locals if keep(b.name))


def done_ahead(
    effects: Sequence[Effects], constants: frozenset[str], workspace: frozenset[str]
) -> frozenset[int]:
    """Positions of the statements that can be done ahead: none without constants."""
    ahead = frozenset(range(len(effects))) if constants else frozenset[int]()
    while True:
        made = frozenset(name for name in workspace if _is_made(name, effects, ahead))
        left = frozenset(
            at
            for at in ahead
            if effects[at].reads <= constants | made and effects[at].writes <= made
        )
        if left == ahead:
            return ahead
        ahead = left


def _is_made(buffer: str, effects: Sequence[Effects], ahead: frozenset[int]) -> bool:
    """Whether `buffer` is as it was made ahead wherever the rest reads it."""
    writers = [at for at, e in enumerate(effects) if buffer in e.writes]
    readers = [at for at, e in enumerate(effects) if buffer in e.reads and at not in ahead]
    if not ahead.issuperset(writers):
        return False
    return not writers or not readers or max(writers) < min(readers)
