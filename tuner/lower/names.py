"""Fresh names for the loops and buffers of copied code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from tuner.ir.nodes import Buffer, Expr, For, Program, Stmt, Var
from tuner.ir.visit import Body, loops, rewrite_body, substitute

_SUFFIX = re.compile(r"_\d+$")


class Names:
    """Gives out names that no loop and no buffer has yet: l0 is followed by l0_1, l0_2, …"""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def fresh(self, name: str) -> str:
        """A new name that resembles `name`."""
        stem = _SUFFIX.sub("", name)
        number = self._last.get(stem, 0)
        while True:
            number += 1
            candidate = f"{stem}_{number}"
            if candidate not in self._taken:
                break
        self._last[stem] = number
        self._taken.add(candidate)
        return candidate


def names_of(program: Program) -> Names:
    """A supply that avoids every name of `program`."""
    taken = {loop.var for loop in loops(program.body)}
    return Names(taken | {b.name for b in program.buffers()})


def copy_body(body: Body, names: Names) -> Body:
    """`body` with its loops renamed, so that it can stand beside the original."""
    renamed = {loop.var: names.fresh(loop.var) for loop in loops(body)}
    if not renamed:
        return body

    def in_stmt(stmt: Stmt) -> Stmt:
        if isinstance(stmt, For):
            return replace(stmt, var=renamed[stmt.var])
        return stmt

    variables: dict[str, Expr] = {old: Var(new) for old, new in renamed.items()}
    return substitute(rewrite_body(body, in_stmt), variables)


def used_buffers(buffers: Iterable[Buffer], used: set[str]) -> tuple[Buffer, ...]:
    """Those of `buffers` whose name is in `used`."""
    return tuple(b for b in buffers if b.name in used)
