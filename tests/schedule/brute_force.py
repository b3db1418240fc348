"""Small programs run instance by instance, with terms for values: what a step may not change.

Every store of a program is tagged: its value gets a term of its own for each instance. A schedule
carries the tags along, so that an instance is known again wherever it runs, and two values are the
same term only if they were computed alike. Two things are then compared, before and after:

- the order of instances that conflict, where each of them runs once in both programs;
- the terms that the outputs hold in the end.

Accumulations of one reducer gather in a multiset, so their order is free. In a vectorized loop each
statement reads in all lanes, at one time, before it writes in all of them, at one time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from operator import add, eq, floordiv, ge, gt, le, lt, mod, mul, ne, sub

from tuner.ir.nodes import (
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    For,
    If,
    Load,
    LoopKind,
    Program,
    Scope,
    Select,
    Stmt,
    Store,
    Var,
)
from tuner.ir.numerics import identity
from tuner.ir.visit import Body, outputs, walk_exprs

TAG = "tag"
Instance = tuple[object, ...]
Element = tuple[str, tuple[int, ...]]

_INTEGER = {
    "add": add, "sub": sub, "mul": mul, "floordiv": floordiv, "mod": mod, "min": min, "max": max,
    "lt": lt, "le": le, "gt": gt, "ge": ge, "eq": eq, "ne": ne,
    "and": lambda a, b: a and b, "or": lambda a, b: a or b, "not": lambda a: not a,
    "neg": lambda a: -a, "abs": abs,
}  # fmt: skip


def tagged(program: Program) -> Program:
    """`program` with a read of a parameter of its own added to the value of each store."""
    tags: list[Buffer] = []

    def in_body(body: Body, around: tuple[For, ...]) -> Body:
        return tuple(in_stmt(stmt, around) for stmt in body)

    def in_stmt(stmt: Stmt, around: tuple[For, ...]) -> Stmt:
        if isinstance(stmt, For):
            return replace(stmt, body=in_body(stmt.body, (*around, stmt)))
        if isinstance(stmt, If):
            return replace(stmt, body=in_body(stmt.body, around))
        dtype = program.buffer(stmt.buffer).dtype
        shape = tuple(loop.extent for loop in around) or (1,)
        tags.append(Buffer(f"{TAG}{len(tags)}", dtype, shape, Scope.PARAM))
        place = tuple(Var(loop.var) for loop in around) or (Const(0),)
        tag = Load(tags[-1].name, place, dtype)
        return replace(stmt, value=Call("add", (stmt.value, tag), dtype))

    body = in_body(program.body, ())
    return replace(program, params=(*program.params, *tags), body=body)


@dataclass
class Done:
    """One execution of a statement instance."""

    reads: set[Element]
    written: Element
    reduce: str | None
    read_at: int = 0
    written_at: int = 0


@dataclass
class Run:
    """What happened while a program ran."""

    #: executions of each tagged instance
    done: dict[Instance, list[Done]] = field(default_factory=dict)
    #: the term that each element holds
    memory: dict[Element, int] = field(default_factory=dict)
    clock: int = 0


class Terms:
    """Values as terms; equal terms have equal numbers, in every run that shares this table."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        self._keys: list[tuple[object, ...]] = []

    def number(self, *key: object) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self._keys)
            self._keys.append(key)
        return self._numbers[key]

    def accumulated(self, op: str, old: int, value: int, neutral: object) -> int:
        """`old` with `value` added to the multiset of what was accumulated with `op`; the neutral
        element adds nothing."""
        if self._keys[value] == ("const", neutral):
            return old
        base, parts = self._parts(op, old)
        inner, more = self._parts(op, value)
        if more and self._keys[inner] == ("const", neutral):
            parts = (*parts, *more)
        else:
            parts = (*parts, value)
        return self.number("gathered", op, base, tuple(sorted(parts)))

    def _parts(self, op: str, term: int) -> tuple[int, tuple[int, ...]]:
        match self._keys[term]:
            case ("gathered", known, int() as base, tuple() as parts) if known == op:
                return base, parts
        return term, ()


def run(program: Program, terms: Terms) -> Run:
    """Every instance of `program` in order."""
    machine = _Machine(program, terms)
    machine.body(program.body, {})
    return machine.run


class _Machine:
    def __init__(self, program: Program, terms: Terms) -> None:
        self._program, self._terms, self.run = program, terms, Run()

    def body(self, body: Body, at: dict[str, int]) -> None:
        for stmt in body:
            match stmt:
                case For(kind=LoopKind.VECTORIZED):
                    for inner in stmt.body:
                        self._together(inner, [{**at, stmt.var: n} for n in range(stmt.extent)])
                case For():
                    for n in range(stmt.extent):
                        self.body(stmt.body, {**at, stmt.var: n})
                case If(cond, inner):
                    if integer(cond, at):
                        self.body(inner, at)
                case Store():
                    self._together(stmt, [at])

    def _together(self, stmt: Stmt, lanes: list[dict[str, int]]) -> None:
        """One statement in all `lanes`."""
        if isinstance(stmt, If):
            lanes = [at for at in lanes if integer(stmt.cond, at)]
            for inner in stmt.body:
                self._together(inner, lanes)
            return
        assert isinstance(stmt, Store)
        found = [(self._value(stmt.value, at), self._done(stmt, at)) for at in lanes]
        self.run.clock += 2
        for value, done in found:
            done.read_at, done.written_at = self.run.clock - 1, self.run.clock
            self._write(stmt, value, done.written)

    def _write(self, stmt: Store, value: int, element: Element) -> None:
        if stmt.reduce is not None:
            dtype = self._program.buffer(stmt.buffer).dtype
            neutral = identity(stmt.reduce, dtype).item()
            value = self._terms.accumulated(stmt.reduce, self._read(element), value, neutral)
        self.run.memory[element] = value

    def _done(self, stmt: Store, at: dict[str, int]) -> Done:
        done = Done(set(), _element(stmt, at), stmt.reduce)
        for load in _taken(stmt.value, at):
            if load.buffer.startswith(TAG):
                self.run.done.setdefault(_element(load, at), []).append(done)
            else:
                done.reads.add(_element(load, at))
        return done

    def _read(self, element: Element) -> int:
        found = self.run.memory.get(element)
        return self._terms.number("start", element) if found is None else found

    def _value(self, expr: Expr, at: dict[str, int]) -> int:
        if not any(isinstance(e, Load) for e in walk_exprs(expr)):
            if isinstance(expr, Cast):
                return self._value(expr.arg, at)
            return self._terms.number("const", integer(expr, at))
        match expr:
            case Load():
                return self._read(_element(expr, at))
            case Select(cond, then, other) if not _reads(cond):
                return self._value(then if integer(cond, at) else other, at)
            case Select(cond, then, other):
                parts = [self._value(e, at) for e in (cond, then, other)]
                return self._terms.number("select", *parts)
            case Cast(dtype, arg):
                return self._terms.number("cast", dtype.name, self._value(arg, at))
            case Call(op, args):
                return self._terms.number(op, *(self._value(a, at) for a in args))
        raise AssertionError(f"not before lowering: {expr}")


def _reads(expr: Expr) -> bool:
    return any(isinstance(e, Load) for e in walk_exprs(expr))


def _taken(expr: Expr, at: dict[str, int]) -> Iterator[Load]:
    """The loads that are evaluated; both sides of a test of data are."""
    match expr:
        case Select(cond, then, other) if not _reads(cond):
            yield from _taken(then if integer(cond, at) else other, at)
        case Select(cond, then, other):
            for part in (cond, then, other):
                yield from _taken(part, at)
        case Load():
            yield expr
        case Cast(arg=arg):
            yield from _taken(arg, at)
        case Call(args=args):
            for arg in args:
                yield from _taken(arg, at)


def _element(access: Load | Store, at: dict[str, int]) -> Element:
    return access.buffer, tuple(int(integer(i, at)) for i in access.indices)


def integer(expr: Expr, at: dict[str, int]) -> int | float | bool:
    """The value of an expression without loads."""
    match expr:
        case Const(value=value):
            return value
        case Var(name):
            return at[name]
        case Call(op, args):
            return _INTEGER[op](*(integer(a, at) for a in args))
        case Select(cond, then, other):
            return integer(then if integer(cond, at) else other, at)
    raise AssertionError(f"not an index: {expr}")


def turned_around(before: Run, after: Run) -> tuple[Instance, Instance] | None:
    """Two instances that conflict and whose order differs; None if there are none. Where some
    instance does not run just once in both, order says nothing and the terms must decide."""
    if before.done.keys() != after.done.keys() or any(
        len(found) != 1 for run_ in (before, after) for found in run_.done.values()
    ):
        return None
    touching: dict[Element, list[Instance]] = {}
    for instance, (done,) in before.done.items():
        for element in {*done.reads, done.written}:
            touching.setdefault(element, []).append(instance)
    for element, instances in touching.items():
        for first in instances:
            for second in instances:
                old = before.done[first][0], before.done[second][0]
                new = after.done[first][0], after.done[second][0]
                if first != second and any(
                    getattr(old[0], x) < getattr(old[1], y)
                    and not getattr(new[0], x) < getattr(new[1], y)
                    for x, y in _conflict(element, *old)
                ):
                    return first, second
    return None


def _conflict(element: Element, a: Done, b: Done) -> Iterator[tuple[str, str]]:
    """The times, of the first and of the second, whose order counts."""
    commute = a.reduce is not None and a.reduce == b.reduce
    if a.written == element and b.written == element and not commute:
        yield "written_at", "written_at"
    if a.written == element and element in b.reads:
        yield "written_at", "read_at"
    if element in a.reads and b.written == element:
        yield "read_at", "written_at"


def same_terms(program: Program, before: Run, after: Run) -> bool:
    """Whether all outputs of `program` hold the same terms in the end."""
    names = set(outputs(program))
    elements = {e for r in (before, after) for e in r.memory if e[0] in names}
    return all(before.memory.get(e) == after.memory.get(e) for e in elements)
