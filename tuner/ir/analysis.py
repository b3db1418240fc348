"""What a check of results needs to know of a program: reduction lengths, and exactness."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tuner.ir.nodes import Call, Const, Expr, For, If, Load, Program, Store
from tuner.ir.ops import OPS
from tuner.ir.visit import Body, expr_children, variables, walk_exprs

#: Reducers that round.
_ROUNDING = ("add", "mul")


def longest_reduction(program: Program) -> int:
    """Most roundings that one element's accumulation can gather; 1 where there is none.

    A loop counts if the accumulation runs along it: it is not in the subscripts, and the start
    value is not stored inside of it. A recurrence (y[i] from y[i - 1]) counts every loop.
    """
    totals: dict[str, int] = {}
    starts: dict[str, tuple[For, ...]] = {}
    longest = 1
    for store, around in _stores(program.body, ()):
        if store.reduce is None:
            starts[store.buffer] = around
            totals[store.buffer] = _recurrence(store, around)
        elif store.reduce in _ROUNDING:
            moving = {name for index in store.indices for name in variables(index)}
            outside = {loop.var for loop in starts.get(store.buffer, ())} | moving
            steps = math.prod(loop.extent for loop in around if loop.var not in outside)
            totals[store.buffer] = totals.get(store.buffer, 0) + steps
        longest = max(longest, totals.get(store.buffer, 1))
    return longest


def _recurrence(store: Store, around: tuple[For, ...]) -> int:
    reads = {e.indices for e in _reads(store.value) if e.buffer == store.buffer}
    return math.prod(loop.extent for loop in around) if reads - {store.indices} else 0


def _reads(expr: Expr) -> Iterator[Load]:
    return (e for e in walk_exprs(expr) if isinstance(e, Load))


def _stores(body: Body, around: tuple[For, ...]) -> Iterator[tuple[Store, tuple[For, ...]]]:
    """Every store with the loops around it, outer first."""
    for stmt in body:
        match stmt:
            case Store():
                yield stmt, around
            case For():
                yield from _stores(stmt.body, (*around, stmt))
            case If():
                yield from _stores(stmt.body, around)


def is_exact(program: Program) -> bool:
    """Whether integers small enough for every type on the way stay exact: only + - * min max,
    comparisons, selection and rounding to integers, with literals that are whole."""
    return all(_exact(store.value) for store, _ in _stores(program.body, ()))


def _exact(expr: Expr) -> bool:
    match expr:
        case Const(value=value):
            return math.isinf(value) or float(value).is_integer()
        case Load():
            return True
        case Call(op=op) if not OPS[op].exact:
            # Division of integers has one right answer.
            return op in ("floordiv", "mod") and all(_exact(a) for a in expr.args)
    return all(_exact(child) for child in expr_children(expr))
