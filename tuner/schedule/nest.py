"""What every primitive needs of loop nests: finding, replacing, chains, fresh names, tidying."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tuner.errors import ScheduleError
from tuner.ir.affine import (
    all_of,
    conjuncts,
)
from tuner.ir.nodes import (
    TRUE,
    Buffer,
    Expr,
    For,
    If,
    Load,
    LoopKind,
    Program,
    Scope,
    Stmt,
)
from tuner.ir.visit import (
    Body,
    loops,
    walk_exprs,
    with_body,
)
from tuner.schedule.steps import is_name

#: Most bytes of one buffer that lives in registers or on the stack.
MAX_LOCAL_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Place:
    """A loop and what stands around it, outermost first."""

    around: tuple[For | If, ...]
    loop: For

    def ranges(self) -> dict[str, int]:
        """Extents of the loops around and of the loop itself."""
        outer = {s.var: s.extent for s in self.around if isinstance(s, For)}
        return {**outer, self.loop.var: self.loop.extent}

    def guards(self) -> tuple[Expr, ...]:
        """Conditions that hold wherever the loop runs."""
        return tuple(c for s in self.around if isinstance(s, If) for c in conjuncts(s.cond))


def find(program: Program, name: str) -> Place:
    """The loop called `name`. Raises ScheduleError with the names that exist."""
    path = _path(program.body, name)
    if path is None:
        names = ", ".join(loop.var for loop in loops(program.body))
        raise ScheduleError(f"no loop is called {name!r}; there are: {names}")
    *around, loop = path
    assert isinstance(loop, For)
    return Place(tuple(around), loop)


def _path(body: Body, name: str) -> tuple[For | If, ...] | None:
    """The loop called `name` below `body`, after what stands around it."""
    for stmt in body:
        if isinstance(stmt, (For, If)):
            if isinstance(stmt, For) and stmt.var == name:
                return (stmt,)
            below = _path(stmt.body, name)
            if below is not None:
                return (stmt, *below)
    return None


def find_serial(program: Program, name: str) -> Place:
    """As `find`; refuses a loop that is already unrolled or vectorized."""
    place = find(program, name)
    if place.loop.kind != LoopKind.SERIAL:
        raise ScheduleError(
            f"loop {name!r} is already {place.loop.kind}; change a loop before it is annotated"
        )
    return place


def find_buffer(program: Program, name: str) -> Buffer:
    """The buffer called `name`. Raises ScheduleError with the names that exist."""
    try:
        return program.buffer(name)
    except KeyError:
        names = ", ".join(b.name for b in program.buffers())
        raise ScheduleError(f"no buffer is called {name!r}; there are: {names}") from None


def put(program: Program, place: Place, new: Body) -> Program:
    """`program` with the statements `new` where the loop of `place` stood."""
    old: Stmt = place.loop
    for parent in reversed(place.around):
        changed = replace(parent, body=splice(parent.body, old, new))
        old, new = parent, (changed,)
    return replace(program, body=splice(program.body, old, new))


def splice(body: Body, old: Stmt, new: Body) -> Body:
    """`body` with the statements `new` in the place of the very object `old`."""
    at = next(i for i, stmt in enumerate(body) if stmt is old)
    return (*body[:at], *new, *body[at + 1 :])


def declare(program: Program, buffer: Buffer) -> Program:
    """`program` with one more intermediate buffer. Raises ScheduleError if it is too large."""
    check_size(buffer)
    return replace(program, locals=(*program.locals, buffer))


def check_size(buffer: Buffer) -> None:
    """Raises ScheduleError where `buffer` is local and too large for that."""
    if buffer.scope == Scope.LOCAL and buffer.bytes > MAX_LOCAL_BYTES:
        raise ScheduleError(
            f"local buffer {buffer.name!r} of shape {buffer.shape} needs {buffer.bytes} bytes; "
            f"at most {MAX_LOCAL_BYTES} may live in registers or on the stack: use smaller tiles"
        )


def find_intermediate(program: Program, name: str) -> Buffer:
    """As `find_buffer`; refuses a parameter, whose layout and place are the caller's."""
    buffer = find_buffer(program, name)
    if buffer.scope is Scope.PARAM:
        raise ScheduleError(f"{name!r} is a parameter: only intermediate buffers can be changed")
    return buffer


def redeclare(program: Program, buffer: Buffer) -> Program:
    """`program` with `buffer` in the place of the intermediate buffer of that name. Raises
    ScheduleError if it is too large."""
    check_size(buffer)
    others = tuple(buffer if b.name == buffer.name else b for b in program.locals)
    return replace(program, locals=others)


def check_fresh(program: Program, *names: str) -> None:
    """Raises ScheduleError unless `names` are identifiers, different, and not used in `program`."""
    used = {b.name for b in program.buffers()} | {loop.var for loop in loops(program.body)}
    for position, name in enumerate(names):
        if not is_name(name):
            raise ScheduleError(f"{name!r} cannot name a loop or buffer: use a plain identifier")
        if name in used or name in names[:position]:
            raise ScheduleError(f"the name {name!r} is taken; each new one must be unused")


def check_count(what: str, expected: int, found: Sequence[object]) -> None:
    """Raises ScheduleError unless `found` has `expected` entries."""
    if len(found) != expected:
        raise ScheduleError(f"{what}: expected {expected}, found {len(found)} in {tuple(found)}")


def extents(body: Body) -> dict[str, int]:
    """Extent of every loop below `body`."""
    return {loop.var: loop.extent for loop in loops(body)}


def has_load(expr: Expr) -> bool:
    """Whether `expr` reads a buffer."""
    return any(isinstance(e, Load) for e in walk_exprs(expr))


@dataclass(frozen=True, slots=True)
class Chain:
    """Loops that perfectly contain each other, outermost first, and what the innermost holds.
    Guards between them that read no buffer are gathered in `conds`."""

    loops: tuple[For, ...]
    conds: tuple[Expr, ...]
    body: Body

    def names(self) -> tuple[str, ...]:
        return tuple(loop.var for loop in self.loops)


def chain(loop: For) -> Chain:
    """The longest chain that starts with `loop`."""
    found: list[For] = [loop]
    conds: list[Expr] = []
    body = loop.body
    while len(body) == 1:
        match body[0]:
            case For() as inner:
                found.append(inner)
                body = inner.body
            case If(cond, guarded) if not has_load(cond):
                conds.extend(c for c in conjuncts(cond) if c not in conds)
                body = guarded
            case _:
                break
    return Chain(tuple(found), tuple(conds), body)


def build(nest: Iterable[For], conds: Sequence[Expr], body: Body) -> Body:
    """The loops `nest` around `body`, all guards at the bottom so that the loops stay a chain."""
    body = guarded(conds, body)
    for loop in reversed(tuple(nest)):
        body = (with_body(loop, body),)
    return body


def guarded(conds: Sequence[Expr], body: Body) -> Body:
    """`body` under the conjunction of `conds`, which goes below the chain that `body` is."""
    cond = all_of(tuple(conds))
    if cond == TRUE:
        return body
    if len(body) == 1:
        match body[0]:
            case For() as loop:
                below = chain(loop)
                more = (*conds, *(c for c in below.conds if c not in conds))
                return build(below.loops, more, below.body)
            case If(inner, rest) if not has_load(inner):
                more = (*conds, *(c for c in conjuncts(inner) if c not in conds))
                return (If(all_of(more), rest),)
    return (If(cond, body),)


def serial(names: Iterable[str], sizes: Iterable[int]) -> tuple[For, ...]:
    """Empty serial loops, to be filled by `build`."""
    return tuple(For(n, size, LoopKind.SERIAL, ()) for n, size in zip(names, sizes, strict=True))
