"""Bounds are sound on random expressions and guards, and exact where schedules need them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.dtypes import BOOL, INDEX
from tuner.ir.bounds import EMPTY, bounds_under
from tuner.ir.nodes import Call, Const, Expr, Var

EXTENTS = {"i": 4, "j": 3, "k": 5}
_FUNCTIONS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b, "neg": lambda a: -a,
    "min": min, "max": max, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b, "and": lambda a, b: a and b, "or": lambda a, b: a or b,
    "not": lambda a: not a,
}  # fmt: skip


def _evaluate(expr: Expr, env: dict[str, int]) -> int:
    match expr:
        case Const(value=value):
            return int(value)
        case Var(name):
            return env[name]
        case Call(op=op, args=args):
            return int(_FUNCTIONS[op](*(_evaluate(a, env) for a in args)))
    raise AssertionError(expr)


def _index(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    positive = st.integers(1, 6).map(Const)
    return st.one_of(
        st.tuples(st.sampled_from(["add", "sub"]), inner, inner).map(
            lambda t: Call(t[0], (t[1], t[2]), INDEX)
        ),
        st.tuples(inner, st.integers(-4, 6).map(Const)).map(lambda t: Call("mul", t, INDEX)),
        st.tuples(st.sampled_from(["floordiv", "mod"]), inner, positive).map(
            lambda t: Call(t[0], (t[1], t[2]), INDEX)
        ),
        inner.map(lambda a: Call("neg", (a,), INDEX)),
    )


INDEX_EXPRS = st.recursive(
    st.one_of(st.sampled_from(list(EXTENTS)).map(Var), st.integers(-5, 9).map(Const)),
    _index,
    max_leaves=6,
)
COMPARISONS = st.tuples(
    st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]), INDEX_EXPRS, INDEX_EXPRS
).map(lambda t: Call(t[0], (t[1], t[2]), BOOL))
GUARDS = st.recursive(
    COMPARISONS,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["and", "or"]), inner, inner).map(
            lambda t: Call(t[0], (t[1], t[2]), BOOL)
        ),
        inner.map(lambda a: Call("not", (a,), BOOL)),
    ),
    max_leaves=4,
)


@given(INDEX_EXPRS, st.lists(GUARDS, max_size=3))
def test_no_reachable_value_is_outside_the_bounds(expr: Expr, guards: list[Expr]) -> None:
    low, high = bounds_under(expr, EXTENTS, guards)
    for point in itertools.product(*(range(n) for n in EXTENTS.values())):
        env = dict(zip(EXTENTS, point, strict=True))
        if all(_evaluate(g, env) for g in guards):
            assert low <= _evaluate(expr, env) <= high


def _sum(*terms: tuple[str, int], const: int = 0) -> Expr:
    expr: Expr = Const(const)
    for name, factor in terms:
        expr = Call("add", (expr, Call("mul", (Var(name), Const(factor)), INDEX)), INDEX)
    return expr


def _less(a: Expr, b: int) -> Expr:
    return Call("lt", (a, Const(b)), BOOL)


def _at_least(a: Expr, b: int) -> Expr:
    return Call("ge", (a, Const(b)), BOOL)


TILE = _sum(("i", 32), ("j", 1))
RANGES = {"i": 4, "j": 32, "k": 8}

EXACT = [
    (_sum(("i", 1)), [], (0, 3)),
    (_sum(("i", 1), const=-1), [_at_least(Var("i"), 1)], (0, 2)),
    (TILE, [_less(TILE, 100)], (0, 99)),
    (_sum(("i", 64), ("j", 2), ("k", 1)), [_less(TILE, 100)], (0, 205)),
    (_sum(("i", 32), ("j", 1), const=-1), [_less(TILE, 100), _at_least(TILE, 1)], (0, 98)),
    (Var("i"), [_less(TILE, 60)], (0, 1)),
    (Call("floordiv", (TILE, Const(50)), INDEX), [_less(TILE, 100)], (0, 1)),
    (
        Call("add", (Var("i"), Call("floordiv", (Var("j"), Const(8)), INDEX)), INDEX),
        [_less(_sum(("i", 8), ("j", 1)), 20)],
        (0, 2),
    ),
    (Call("mod", (TILE, Const(200)), INDEX), [_less(TILE, 100)], (0, 99)),
    (_sum(("i", 32), ("j", 1), ("k", 1)), [_less(TILE, 100), _less(Var("k"), 3)], (0, 101)),
    (Var("i"), [Call("eq", (Var("i"), Const(2)), BOOL)], (2, 2)),
    (Var("i"), [Call("not", (_less(Var("i"), 2),), BOOL)], (2, 3)),
    (Var("i"), [_less(Var("i"), 2), _at_least(Var("i"), 2)], EMPTY),
    (
        Var("i"),
        [Call("not", (Call("or", (_less(Var("i"), 1), _at_least(Var("i"), 3)), BOOL),), BOOL)],
        (1, 2),
    ),
]


@pytest.mark.parametrize(("expr", "guards", "expected"), EXACT)
def test_the_bounds_that_schedules_need_are_exact(
    expr: Expr, guards: list[Expr], expected: tuple[int, int]
) -> None:
    assert bounds_under(expr, RANGES, guards) == expected
