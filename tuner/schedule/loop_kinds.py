"""What must hold of a loop of each kind, in a user's text and after every step."""

from __future__ import annotations

from collections.abc import Callable

from tuner.ir.nodes import AXES, For, If, LoopKind, Program, Stmt
from tuner.schedule.annotate import check_unrolled, check_vectorized
from tuner.schedule.bind import check_bound
from tuner.schedule.nest import Place
from tuner.schedule.parallel import check_threads

#: Each raises ScheduleError unless its primitive would have made the loop what it is. A serial loop
#: promises nothing.
CHECKS: dict[LoopKind, Callable[[Program, Place], None]] = {
    LoopKind.UNROLLED: check_unrolled,
    LoopKind.VECTORIZED: check_vectorized,
    LoopKind.PARALLEL: check_threads,
    **dict.fromkeys(AXES.values(), check_bound),
}
#: Kinds that may be right or wrong by what other statements do with a buffer.
_BY_PROGRAM = frozenset(CHECKS) - {LoopKind.UNROLLED, LoopKind.VECTORIZED}


def check_loops(program: Program) -> None:
    """Raises ScheduleError unless every loop of `program` may be executed as its kind says."""
    LoopChecks().check(program)


class LoopChecks:
    """`check_loops` for one program after another; statements that they share are looked at once,
    unless the rest of the program counts."""

    def __init__(self) -> None:
        #: by id; holding the statement keeps the id its own
        self._settled: dict[int, Stmt] = {}

    def check(self, program: Program) -> None:
        """Raises ScheduleError unless every loop of `program` may be executed as its kind says."""
        for stmt in program.body:
            if id(stmt) in self._settled:
                continue
            if _checked_kinds(program, stmt, ()).isdisjoint(_BY_PROGRAM):
                self._settled[id(stmt)] = stmt


def _checked_kinds(program: Program, stmt: Stmt, around: tuple[For | If, ...]) -> set[LoopKind]:
    """The kinds of the loops of `stmt`, each of which was found to be right."""
    found: set[LoopKind] = set()
    if isinstance(stmt, For):
        found.add(stmt.kind)
        if stmt.kind in CHECKS:
            CHECKS[stmt.kind](program, Place(around, stmt))
    if isinstance(stmt, (For, If)):
        for inner in stmt.body:
            found |= _checked_kinds(program, inner, (*around, stmt))
    return found
