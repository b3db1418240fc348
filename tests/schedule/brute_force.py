"""Small programs run instance by instance, with terms for values: what a step may not change.

Every store of a program is tagged: its value gets a term of its own for each instance. A schedule
carries the tags along, so that an instance is known again wherever it runs, and two values are the
same term only if they were computed alike. `tests.schedule.compare_runs` compares the order of
conflicting instances, and the terms that the outputs hold in the end.

Accumulations of one reducer gather in a multiset, so their order is free. In a vectorized loop each
statement reads in all lanes, at one time, before it writes in all of them, at one time. Iterations
of a parallel or bound loop run in turn, and what they touch is compared.
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
from tuner.ir.visit import Body, walk_exprs

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
    #: whether iterations of a parallel or bound loop would meet
    races: bool = False


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
        #: what has run since the last iteration of a parallel or bound loop began
        self._log: list[Done] = []

    def body(self, body: Body, at: dict[str, int]) -> None:
        for stmt in body:
            match stmt:
                case For(kind=LoopKind.VECTORIZED):
                    for inner in stmt.body:
                        self._together(inner, [{**at, stmt.var: n} for n in range(stmt.extent)])
                case For(kind=kind) if kind is LoopKind.PARALLEL or kind.is_bound:
                    self._spread(stmt, at)
                case For():
                    for n in range(stmt.extent):
                        self.body(stmt.body, {**at, stmt.var: n})
                case If(cond, inner):
                    if integer(cond, at):
                        self.body(inner, at)
                case Store():
                    self._together(stmt, [at])

    def _spread(self, loop: For, at: dict[str, int]) -> None:
        """A loop whose iterations come in any order."""
        before, iterations = self._log, []
        for n in range(loop.extent):
            self._log = []
            self.body(loop.body, {**at, loop.var: n})
            iterations.append(self._log)
        self.run.races |= self._race(loop.kind, [_touched(log) for log in iterations])
        self._log = [*before, *(done for log in iterations for done in log)]

    def _race(self, kind: LoopKind, iterations: list[dict[Element, list[str]]]) -> bool:
        """Whether one iteration writes what another touches, but in a buffer that each has for
        itself and of which it gives every element a value first."""
        scopes = (Scope.LOCAL, Scope.SHARED) if kind.is_block else (Scope.LOCAL,)
        for element in {e for touched in iterations for e in touched}:
            uses = [touched[element] for touched in iterations if element in touched]
            local = self._program.buffer(element[0]).scope in scopes
            own = local and all(use[0] == "assign" for use in uses)
            if len(uses) > 1 and not own and any(set(use) != {"read"} for use in uses):
                return True
        return False

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
            self._log.append(done)
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


def _touched(log: list[Done]) -> dict[Element, list[str]]:
    """How each element was used, in order."""
    found: dict[Element, list[str]] = {}
    for done in log:
        for element in done.reads:
            found.setdefault(element, []).append("read")
        found.setdefault(done.written, []).append(done.reduce or "assign")
    return found


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
