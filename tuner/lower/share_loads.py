"""A value that straight-line code loads several times is loaded once.

    acc_1[..] += x[k] * p[ramp(k * 32, 1, 16)]            p_1[..] = p[ramp(k * 32, 1, 16)]
    acc_2[..] += x[k + 512] * p[ramp(k * 32, 1, 16)]  ->  acc_1[..] += x[k] * p_1[..]
                                                          acc_2[..] += x[k + 512] * p_1[..]

Compilers find that too; the text is shorter to read and quicker to compile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from tuner.ir.nodes import (
    Buffer,
    Const,
    Expr,
    For,
    If,
    Load,
    Program,
    Ramp,
    Scope,
    Stmt,
    Store,
)
from tuner.ir.visit import Body, same_or_new, with_body
from tuner.lower.exprs import Loads, lanes, map_loads
from tuner.lower.names import Names, names_of
from tuner.target import Target


def share_loads(program: Program, target: Target) -> Program:
    """Gives a variable to each load from memory that a run of stores repeats, if the run does not
    store to that buffer. What a selection may skip is left alone."""
    del target
    local = {b.name for b in program.locals if b.scope is Scope.LOCAL}
    sharer = _Sharer(names_of(program), local)
    body = sharer.body(program.body)
    return replace(program, locals=(*program.locals, *sharer.variables), body=body)


class _Sharer:
    def __init__(self, names: Names, skipped: set[str]) -> None:
        self.names, self.skipped, self.loads = names, skipped, Loads(selected=False)
        self.variables: list[Buffer] = []

    def body(self, body: Body) -> Body:
        out: list[Stmt] = []
        run: list[Store] = []
        for stmt in body:
            if isinstance(stmt, Store):
                run.append(stmt)
                continue
            out.extend(self.run(run))
            run = []
            out.append(
                with_body(stmt, self.body(stmt.body)) if isinstance(stmt, For | If) else stmt
            )
        out.extend(self.run(run))
        return same_or_new(body, tuple(out))

    def run(self, run: list[Store]) -> Iterator[Stmt]:
        written = {s.buffer for s in run}
        loaded = [self.loads.of(s.value) for s in run]
        equal: dict[Load, Load] = {}
        first: dict[int, Load] = {}
        counts: Counter[int] = Counter()
        for load in (x for loads in loaded for x in loads):
            if load.buffer not in self.skipped and load.buffer not in written:
                if id(load) not in first:
                    first[id(load)] = equal.setdefault(load, load)
                counts[id(first[id(load)])] += 1
        shared = {i: self.variable(x) for i, x in first.items() if i == id(x) and counts[i] > 1}
        made: dict[int, Load] = {}

        def in_load(load: Load) -> Expr:
            return made.get(id(first.get(id(load), load)), load)

        reading = map_loads(in_load)
        for stmt, loads in zip(run, loaded, strict=True):
            new = {id(one): one for one in (first.get(id(x), x) for x in loads)}
            new = {i: one for i, one in new.items() if i in shared and i not in made}
            if new:
                yield from (Store(shared[i].buffer, shared[i].indices, x) for i, x in new.items())
                made |= {i: shared[i] for i in new}
                # What it remembers of earlier statements is from before these variables.
                reading = map_loads(in_load)
            value = reading(stmt.value) if made else stmt.value
            yield Store(stmt.buffer, stmt.indices, value, stmt.reduce)

    def variable(self, load: Load) -> Load:
        name, width = self.names.fresh(load.buffer), lanes(load)
        self.variables.append(Buffer(name, load.dtype, (width,), Scope.LOCAL))
        index: Expr = Ramp(Const(0), 1, width) if width > 1 else Const(0)
        return Load(name, (index,), load.dtype)
