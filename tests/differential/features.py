"""What a pair is an example of: the cases that a schedule language gets wrong most easily."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.differential.pairs import Pair, is_multi_stage
from tuner.ir.affine import bounds, conjuncts
from tuner.ir.nodes import Call, Cast, Const, Expr, If, Load, Program, Select, Store
from tuner.ir.visit import loops, outputs, stmt_exprs, stores, walk, walk_exprs

#: Nests of a chain.
LONG = 6


def features(pair: Pair) -> Iterator[str]:
    """The names of all that the pair has."""
    program = pair.program
    for name, there in (
        ("multi-stage", is_multi_stage(program)),
        (f"{LONG} and more nests", len(program.body) >= LONG),
        ("several outputs", len(outputs(program)) > 1),
        ("an output that is also an intermediate result", _read_again(program)),
        ("a scalar reduction", any(_is_scalar(s, program) for s in stores(program.body))),
        ("casts between types", any(isinstance(e, Cast) for e in _exprs(program))),
        ("guards", any(isinstance(s, If) for s in walk(program.body))),
        ("guards or conditional reads after the schedule", _guarded(pair.scheduled)),
        ("a body that never runs", _never_runs(program)),
        ("loops of one iteration", any(f.extent == 1 for f in loops(program.body))),
        ("dimensions of one element", any(1 in b.shape for b in program.buffers())),
        ("wrapping integers", pair.data == "wrapping"),
        ("reductions over negative data", pair.data == "negative" and _reduces(program)),
        ("NaN or infinity", any(_has_special(a) for a in pair.inputs.values())),
    ):
        if there:
            yield name


def _exprs(program: Program) -> Iterator[Expr]:
    for stmt in walk(program.body):
        for expr in stmt_exprs(stmt):
            yield from walk_exprs(expr)


def _read_again(program: Program) -> bool:
    made = set(outputs(program))
    return any(isinstance(e, Load) and e.buffer in made for e in _exprs(program))


def _is_scalar(store: Store, program: Program) -> bool:
    shape = program.buffer(store.buffer).shape
    return store.reduce is not None and set(shape) == {1}


def _reduces(program: Program) -> bool:
    return any(s.reduce is not None for s in stores(program.body))


def _guarded(program: Program) -> bool:
    return any(isinstance(s, If) for s in walk(program.body)) or any(
        isinstance(e, Select) for e in _exprs(program)
    )


def _never_runs(program: Program) -> bool:
    """Whether some guard is false in all iterations."""
    ranges = {loop.var: loop.extent for loop in loops(program.body)}
    return any(
        _is_false(cond, ranges)
        for stmt in walk(program.body)
        if isinstance(stmt, If)
        for cond in conjuncts(stmt.cond)
    )


def _is_false(cond: Expr, ranges: dict[str, int]) -> bool:
    match cond:
        case Call(op="lt", args=(a, Const(value=limit))):
            return bounds(a, ranges)[0] >= limit
        case Call(op="ge", args=(a, Const(value=limit))):
            return bounds(a, ranges)[1] < limit
    return False


def _has_special(array: np.ndarray) -> bool:
    return array.dtype.kind == "f" and not np.isfinite(array).all()
