"""What the verifier accepts of a schedule's work, and what it calls a defect."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tuner.dtypes import BOOL, F32, F64, I32, INDEX
from tuner.errors import BoundsRefused, StageError
from tuner.frontends.text import parse
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
    Ramp,
    Scope,
    Select,
    Stmt,
    Store,
    Var,
)
from tuner.ir.verify import verify
from tuner.ir.visit import substitute

X = Buffer("x", F32, (8,), Scope.PARAM)
Y = Buffer("y", F32, (8,), Scope.PARAM)
ONE = Const(1.0, F32)


def _program(*body: Stmt) -> Program:
    return Program("f", (X, Y), (), body)


def _loop(value: Expr, index: Expr = Var("i")) -> Program:  # noqa: B008
    return _program(For("i", 8, LoopKind.SERIAL, (Store("y", (index,), value),)))


ACCEPTED = [
    "y[i] = x[7 - i]",
    "y[i] = x[i - 1] if i >= 1 else 0",
    "y[i] = x[i + 1] if not i >= 7 else x[i - 7]",
    "y[i] = x[i + 1] if i != 7 and i < 7 else x[0]",
    "y[i] = x[i] if i < 8 else x[i + 100]",
    "y[i] = x[i + 4] if i == 3 else x[i]",
    "y[i] = x[2 * i] if 2 * i < 8 else x[2 * i - 8]",
    "y[i] = x[i // 2 + 4]",
    "y[i] = x[(3 * i + 11) % 8]",
    "y[i] = (x[i - 2] if i >= 2 else x[i]) if i < 8 else 1",
    "y[i] = x[clamp(ids[i], 0, 7)]",
    "y[i] = x[clamp(ids[clamp(ids[i], 0, 7)], 0, 3) * 2 + 1]",
    "y[i] = x[max(min(ids[i], 7), 0)]",
    "y[i] = 1 if 0 < i and 7 > i else x[i - i]",
    "y[i] = x[i - 7] if not (i < 7 or i > 7) else 0",
]


@pytest.mark.parametrize("statement", ACCEPTED)
def test_a_guarded_access_is_accepted(statement: str) -> None:
    parse(
        f"def f(x: f32[8], ids: i16[8], y: f32[8]):\n    for i in range(8):\n        {statement}\n"
    )


def test_a_split_tail_is_proven_and_its_guard_is_needed() -> None:
    place = Call("add", (Call("mul", (Var("o"), Const(3)), INDEX), Var("n")), INDEX)
    store = Store("y", (place,), Load("x", (place,), F32))
    guard = Call("lt", (place, Const(8)), BOOL)

    def nest(inner: Stmt) -> Program:
        return _program(For("o", 3, LoopKind.SERIAL, (For("n", 3, LoopKind.VECTORIZED, (inner,)),)))

    verify(nest(If(guard, (store,))))
    with pytest.raises(BoundsRefused, match="runs from 0 to 8"):
        verify(nest(store))


LOAD = Load("x", (Var("i"),), F32)
DEFECTS = {
    "an unknown buffer": (_loop(Load("q", (Var("i"),), F32)), "'q' is not declared"),
    "a wrong rank": (_loop(Load("x", (Var("i"), Var("i")), F32)), "has rank 1"),
    "an unknown loop": (_loop(Load("x", (Var("j"),), F32)), "no loop 'j'"),
    "a wrong load type": (_loop(Cast(F32, Load("x", (Var("i"),), F64))), "is f32, not f64"),
    "a wrong stored type": (_loop(Const(1.0, F64)), "a f64 value is stored into 'y'"),
    "a subscript of data type": (_loop(Load("x", (Const(1, I32),), F32)), "a subscript is i32"),
    "mixed operands": (_loop(Call("add", (LOAD, Const(1.0, F64)), F32)), "do not fit"),
    "a wrong result": (_loop(Cast(F32, Call("lt", (LOAD, ONE), F32))), "do not fit"),
    "an unknown operator": (_loop(Call("frob", (LOAD,), F32)), ""),
    "a missing operand": (_loop(Call("exp", (), F32)), ""),
    "a condition of numbers": (_loop(Select(LOAD, ONE, ONE)), "do not fit"),
    "sides of two types": (_loop(Select(Const(True, BOOL), ONE, Const(1.0, F64))), "do not fit"),
    "a float literal of integer type": (_loop(ONE, Const(1.5, INDEX)), "do not fit"),
    "logic on numbers": (
        _loop(Cast(F32, Call("and", (Var("i"), Var("i")), BOOL))), "do not fit"
    ),
    "a lowered node": (_loop(ONE, Ramp(Var("i"), 1, 4)), "do not fit"),
    "two loops of one name": (
        _program(For("i", 8, LoopKind.SERIAL, _loop(ONE).body)), "'i' is used 2 times"
    ),
    "a loop named as a buffer": (_program(For("x", 8, LoopKind.SERIAL, ())), "'x' is used 2"),
    "an empty loop range": (_program(For("i", 0, LoopKind.SERIAL, ())), "extent 0"),
    "a test of numbers": (_program(If(Const(1), ())), "no condition"),
    "an unknown reducer": (
        _program(Store("y", (Const(0),), ONE), Store("y", (Const(0),), ONE, "xor")), "'xor'"
    ),
    "a const that is written": (
        replace(_loop(ONE), params=(X, replace(Y, const=True))), "const and stored into"
    ),
    "a parameter of local scope": (
        replace(_loop(ONE), params=(replace(X, scope=Scope.LOCAL), Y)), "is local"
    ),
    "a local of parameter scope": (
        replace(_loop(ONE), locals=(replace(X, name="t"),)), "is a parameter"
    ),
    "a buffer without elements": (
        replace(_loop(ONE), locals=(Buffer("t", F32, (0,)),)), "no elements"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("program", "message"), DEFECTS.values(), ids=DEFECTS.keys())
def test_a_defect_is_named(program: Program, message: str) -> None:
    with pytest.raises((StageError, KeyError)) as found:
        verify(program)
    assert message in str(found.value)


def test_verify_sees_what_a_rewrite_broke() -> None:
    program = parse("def f(x: f32[8], y: f32[8]):\n    for i in range(8):\n        y[i] = x[i]\n")
    shifted = substitute(program.body, {"i": Call("add", (Var("i"), Const(1)), INDEX)})
    with pytest.raises(BoundsRefused, match=r"y\[i \+ 1\].*runs from 1 to 8"):
        verify(replace(program, body=shifted))
