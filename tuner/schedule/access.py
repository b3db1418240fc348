"""Every access of a nest with what is known of it: subscripts, loops and guards around, position.

`Access.mode` is "read", "assign" or the reducer of an accumulating store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from tuner.dtypes import BOOL
from tuner.ir.affine import Linear, Ranges, conjuncts, linear, simplify_linear
from tuner.ir.nodes import Call, Expr, For, If, Load, Select, Stmt, Store
from tuner.ir.show import show_expr
from tuner.ir.visit import Body, expr_children, walk_exprs


@dataclass(frozen=True)
class Access:
    """One access of one buffer below the body that was searched."""

    buffer: str
    indices: tuple[Expr, ...]
    mode: str
    #: loops around it inside the searched body, outermost first
    loops: tuple[For, ...]
    #: statement guards around it inside the searched body
    guards: tuple[Expr, ...]
    #: conditions of the conditional expressions under which a read is evaluated
    taken: tuple[Expr, ...]
    #: index of the statement in each block from the searched body inwards
    position: tuple[int, ...]

    @property
    def writes(self) -> bool:
        return self.mode != "read"

    @property
    def accumulates(self) -> bool:
        return self.mode not in ("read", "assign")

    @cached_property
    def forms(self) -> tuple[Linear, ...]:
        """The linear form of each subscript, as written."""
        return tuple(linear(i) for i in self.indices)

    def precedes(self, other: Access) -> bool:
        """Whether it comes before `other` in one iteration of the loops around both."""
        pairs = zip(self.position, other.position, strict=False)
        return next((a < b for a, b in pairs if a != b), False)

    def text(self) -> str:
        """The access as the program writes it."""
        return f"{self.buffer}[{', '.join(show_expr(i) for i in self.indices)}]"


def accesses(body: Body) -> tuple[Access, ...]:
    """Every access below `body`, in program order; a store's reads come before it."""
    return tuple(_of_body(body, (), (), ()))


def accesses_of(stmt: Stmt) -> tuple[Access, ...]:
    """Every access of one statement and what is below it."""
    return accesses((stmt,))


def _of_body(
    body: Body, loops: tuple[For, ...], guards: tuple[Expr, ...], path: tuple[int, ...]
) -> Iterator[Access]:
    for i, stmt in enumerate(body):
        here = (*path, i)
        match stmt:
            case For():
                yield from _of_body(stmt.body, (*loops, stmt), guards, here)
            case If(cond, inner):
                for load, taken in _loads(cond, ()):
                    yield Access(load.buffer, load.indices, "read", loops, guards, taken, here)
                yield from _of_body(inner, loops, (*guards, *conjuncts(cond)), here)
            case Store():
                for expr in (*stmt.indices, stmt.value):
                    for load, taken in _loads(expr, ()):
                        yield Access(load.buffer, load.indices, "read", loops, guards, taken, here)
                mode = stmt.reduce or "assign"
                yield Access(stmt.buffer, stmt.indices, mode, loops, guards, (), here)


def _loads(expr: Expr, taken: tuple[Expr, ...]) -> Iterator[tuple[Load, tuple[Expr, ...]]]:
    match expr:
        case Select(cond, then, other):
            yield from _loads(cond, taken)
            yield from _loads(then, (*taken, *conjuncts(cond)))
            yield from _loads(other, (*taken, Call("not", (cond,), BOOL)))
            return
        case Load():
            yield expr, taken
    for child in expr_children(expr):
        yield from _loads(child, taken)


def of_buffer(found: Iterable[Access], buffer: str) -> tuple[Access, ...]:
    """Those of `found` that touch `buffer`."""
    return tuple(a for a in found if a.buffer == buffer)


def written(found: Iterable[Access]) -> set[str]:
    """Names of the buffers that `found` writes."""
    return {a.buffer for a in found if a.writes}


def reads(expr: Expr) -> set[str]:
    """Names of the buffers that `expr` reads."""
    return {e.buffer for e in walk_exprs(expr) if isinstance(e, Load)}


def simplified(access: Access, ranges: Ranges) -> tuple[Linear, ...]:
    """The linear form of each subscript, simplified under `ranges`."""
    return tuple(simplify_linear(f, ranges) for f in access.forms)
