"""An interpreter that computes nothing and counts: statements, instructions, elements touched.

It runs every iteration of every loop of a scheduled program, all iterations of one statement at
once as numpy lanes, and looks at the subscripts that come out. It shares no code with the features
but the kinds of loops and the semantics of operators.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tuner.dtypes import INDEX
from tuner.ir.nodes import (
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
    Store,
    Var,
)
from tuner.ir.numerics import apply
from tuner.ir.ops import OPS
from tuner.ir.visit import Body, walk_exprs
from tuner.target import Target

Env = dict[str, np.ndarray]

LINE = 64


@dataclass
class Access:
    """One access of a statement at all its iterations, the last loop fastest."""

    buffer: str
    item: int
    in_memory: bool
    #: [dimensions, iterations]
    subscripts: np.ndarray
    #: where it is carried out, [iterations]
    live: np.ndarray


@dataclass
class Statement:
    """One store, every iteration of it."""

    loops: list[For]
    #: which iterations the guards let pass
    runs: np.ndarray
    reduces: bool
    #: the write first
    accesses: list[Access]
    #: on data, of one iteration
    operations: int

    @property
    def whole(self) -> bool:
        """Whether no guard and no selection ever says no."""
        return bool(self.runs.all() and all(access.live.all() for access in self.accesses))

    @property
    def serial(self) -> int:
        """Loops around the straight code."""
        at = len(self.loops)
        while at and self.loops[at - 1].kind in (LoopKind.UNROLLED, LoopKind.VECTORIZED):
            at -= 1
        return at

    def started(self, depth: int) -> int:
        """Times that what is inside of the outer `depth` loops is begun."""
        return int(np.prod([loop.extent for loop in self.loops[:depth]], dtype=np.int64))

    def loop_iterations(self) -> int:
        """Iterations of all serial loops."""
        return sum(self.started(at + 1) for at in range(self.serial))

    def instructions(self, access: Access, width: int) -> int:
        """Loads or stores of one access in all bodies: what has been moved in a body is not moved
        again; lanes that are neighbours in memory are moved together, `width` at once."""
        if not access.in_memory:
            return 0
        strides = np.cumprod([1, *(access.subscripts[:0:-1].max(axis=1) + 1)])[::-1]
        address = (access.subscripts - access.subscripts.min()).T @ strides
        address = address.reshape(self.started(self.serial), -1)
        body = self.loops[self.serial :]
        lanes = [n for n, loop in enumerate(body) if loop.kind is LoopKind.VECTORIZED]
        if not lanes:
            return _distinct(address)
        extents = [loop.extent for loop in body]
        grid = np.moveaxis(
            address.reshape(-1, *extents), [n + 1 for n in lanes], range(-len(lanes), 0)
        )
        vectors = grid.reshape(len(address), -1, np.prod([extents[n] for n in lanes]))
        steps = np.diff(vectors, axis=2)
        last = access.subscripts[-1]
        if (steps == 0).all():
            return _distinct(vectors[:, :, 0])
        if (steps == 1).all() and last.max() > last.min():
            return _distinct(vectors[:, :, 0]) * -(-vectors.shape[2] // width)
        return _distinct(address)

    def bytes(self, depth: int) -> int:
        """The most bytes, in whole lines, that one iteration of the outer `depth` loops touches:
        for each buffer the largest box of an access."""
        most: dict[str, np.ndarray] = {}
        for access in self.accesses:
            if not access.in_memory or not access.live.any():
                continue
            lines = self._lines(access, depth)
            most[access.buffer] = np.maximum(most.get(access.buffer, 0), lines)
        return int(np.max(sum(most.values(), np.zeros(1)))) * LINE

    def _lines(self, access: Access, depth: int) -> np.ndarray:
        groups = self.started(depth)
        live = access.live.reshape(groups, -1)
        box = np.ones(groups)
        for d, subscript in enumerate(access.subscripts):
            at = subscript.reshape(groups, -1)
            low = np.where(live, at, np.iinfo(np.int64).max).min(axis=1)
            high = np.where(live, at, np.iinfo(np.int64).min).max(axis=1)
            size = np.where(live.any(axis=1), high - low + 1, 0)
            box *= np.ceil(size * access.item / LINE) if d == len(access.subscripts) - 1 else size
        return box


def _distinct(address: np.ndarray) -> int:
    """Distinct addresses of each body, [bodies, iterations], over all bodies."""
    ordered = np.sort(address, axis=1)
    return int(len(address) + (np.diff(ordered, axis=1) != 0).sum())


def run(program: Program, target: Target) -> list[Statement]:
    """Every store of the program, in its order."""
    return list(_Counter(program, target).body(program.body, [], []))


@dataclass
class _Counter:
    program: Program
    target: Target

    def body(self, body: Body, loops: list[For], guards: list[Expr]) -> Iterator[Statement]:
        for stmt in body:
            match stmt:
                case For():
                    yield from self.body(stmt.body, [*loops, stmt], guards)
                case If():
                    yield from self.body(stmt.body, loops, [*guards, stmt.cond])
                case Store():
                    yield self.store(stmt, loops, guards)

    def store(self, store: Store, loops: list[For], guards: list[Expr]) -> Statement:
        points = np.indices([loop.extent for loop in loops], dtype=np.int64).reshape(len(loops), -1)
        env = {loop.var: column for loop, column in zip(loops, points, strict=True)}
        runs = np.ones(points.shape[1] if loops else 1, dtype=bool)
        for guard in guards:
            runs = runs & self.value(guard, env, runs, [])
        accesses = [self.access(store.buffer, store.indices, env, runs)]
        self.value(store.value, env, runs, accesses)
        operations = int(store.reduce is not None) + sum(
            isinstance(e, Call) and OPS[e.op].flop and any(a.dtype != INDEX for a in e.args)
            for e in walk_exprs(store.value)
        )
        return Statement(loops, runs, store.reduce is not None, accesses, operations)

    def access(self, name: str, indices: tuple[Expr, ...], env: Env, live: np.ndarray) -> Access:
        buffer = self.program.buffer(name)
        subscripts = np.stack(
            [np.broadcast_to(self.value(i, env, live, []), live.shape) for i in indices]
        )
        room = self.target.vector_registers * self.target.vector_bits // 8
        size = int(np.prod(buffer.shape)) * buffer.dtype.bytes
        memory = buffer.scope is not Scope.LOCAL or size > room
        return Access(name, buffer.dtype.bytes, memory, subscripts, live)

    def value(
        self, expr: Expr, env: Env, live: np.ndarray, seen: list[Access]
    ) -> np.ndarray | None:
        """The value of an index or of a condition on indices; None for data. Indices among the data
        are all 0. What is read goes to `seen`."""
        match expr:
            case Const():
                return np.asarray(expr.value) if expr.dtype == INDEX else None
            case Var():
                return env[expr.name]
            case Load():
                seen.append(self.access(expr.buffer, expr.indices, env, live))
                return np.zeros(live.shape, dtype=np.int64) if expr.dtype == INDEX else None
            case Call():
                args = [self.value(a, env, live, seen) for a in expr.args]
                known = all(a is not None for a in args)
                return np.asarray(apply(expr.op, tuple(args), expr.dtype)) if known else None
            case Cast():
                value = self.value(expr.arg, env, live, seen)
                return value if expr.dtype == INDEX else None
            case Select():
                cond = self.value(expr.cond, env, live, seen)
                self.value(expr.then, env, live if cond is None else live & cond, seen)
                self.value(expr.other, env, live if cond is None else live & ~cond, seen)
                return None
        raise AssertionError(f"{type(expr).__name__} before lowering")
