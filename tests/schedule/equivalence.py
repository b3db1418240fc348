"""The one thing that every schedule must keep: the program's meaning, as the interpreter has it."""

from __future__ import annotations

from itertools import count

import numpy as np

from tuner.dtypes import INDEX
from tuner.ir.interp import run
from tuner.ir.nodes import (
    Buffer,
    Call,
    Const,
    Expr,
    For,
    If,
    Load,
    LoopKind,
    Program,
    Stmt,
    Store,
    Var,
)
from tuner.ir.show import show
from tuner.ir.structure import check_structure
from tuner.ir.verify import verify
from tuner.ir.visit import Body, outputs, rewrite_body, substitute, variables
from tuner.schedule.apply import apply
from tuner.schedule.steps import Schedule, schedule_from_json, schedule_to_json


def small_integers(program: Program, seed: int = 0) -> dict[str, np.ndarray]:
    """Inputs on which sums and products of these small programs are exact."""
    rng = np.random.default_rng(seed)
    written = outputs(program)
    return {
        b.name: rng.integers(-3, 4, b.shape).astype(b.dtype.numpy)
        for b in program.params
        if b.name not in written
    }


def assert_same(program: Program, schedule: Schedule, rtol: float = 0.0) -> Program:
    """Applies `schedule`, checks that the result is legal, survives JSON, and computes the same,
    vectorized loops in lockstep. Returns the scheduled program."""
    scheduled = apply(program, schedule)
    verify(scheduled)
    assert schedule_from_json(schedule_to_json(schedule)) == schedule
    assert_equal_programs(program, scheduled, rtol)
    return scheduled


def assert_equal_programs(program: Program, scheduled: Program, rtol: float = 0.0) -> None:
    """Both are well formed, stay in bounds as they run, and give equal outputs."""
    check_structure(scheduled)
    inputs = small_integers(program)
    want, got = run(program, inputs), run(in_lockstep(scheduled), inputs)
    for name, expected in want.items():
        np.testing.assert_allclose(
            got[name], expected, rtol=rtol, atol=0, err_msg=f"{name} of\n{show(scheduled)}"
        )


def in_lockstep(program: Program) -> Program:
    """`program` with each vectorized loop run as vector code runs it: statement by statement, all
    lanes read before any of them writes; accumulations into one element come one by one. The
    iterations of a parallel or bound loop, which may come in any order, come last to first."""
    spread = _Lockstep(program)
    body = rewrite_body(program.body, spread.stmt)
    return Program(program.name, program.params, (*program.locals, *spread.added), body)


class _Lockstep:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._names = (f"lane{n}" for n in count())
        self.added: list[Buffer] = []

    def stmt(self, stmt: Stmt) -> Stmt | Body:
        if isinstance(stmt, For) and (stmt.kind == LoopKind.PARALLEL or stmt.kind.is_bound):
            last = Call("sub", (Const(stmt.extent - 1), Var(stmt.var)), INDEX)
            return For(
                stmt.var, stmt.extent, LoopKind.SERIAL, substitute(stmt.body, {stmt.var: last})
            )
        if not isinstance(stmt, For) or stmt.kind != LoopKind.VECTORIZED:
            return stmt
        return tuple(n for inner in stmt.body for n in self._lanes(stmt, inner, ()))

    def _lanes(self, loop: For, stmt: Stmt, conds: tuple[Expr, ...]) -> Body:
        if isinstance(stmt, If):
            return tuple(n for s in stmt.body for n in self._lanes(loop, s, (*conds, stmt.cond)))
        assert isinstance(stmt, Store)
        dtype, reduce, value = self._program.buffer(stmt.buffer).dtype, stmt.reduce, stmt.value
        if reduce and any(loop.var in variables(i) for i in stmt.indices):
            value = Call(reduce, (Load(stmt.buffer, stmt.indices, dtype), value), dtype)
            reduce = None
        lanes = Buffer(next(self._names), dtype, (loop.extent,))
        self.added.append(lanes)
        here = (Var(loop.var),)
        write = Store(stmt.buffer, stmt.indices, Load(lanes.name, here, dtype), reduce)
        return (
            self._serial(loop, Store(lanes.name, here, value), conds),
            self._serial(loop, write, conds),
        )

    def _serial(self, loop: For, stmt: Stmt, conds: tuple[Expr, ...]) -> For:
        for cond in reversed(conds):
            stmt = If(cond, (stmt,))
        name = next(self._names)
        body = substitute((stmt,), {loop.var: Var(name)})
        return For(name, loop.extent, LoopKind.SERIAL, body)
