"""What the parser makes of a text: nodes, types, names and places."""

from __future__ import annotations

import pytest

from tuner.dtypes import BOOL, F16, F32, I8, I32, INDEX
from tuner.frontends.limits import MAX_SOURCE_BYTES
from tuner.frontends.text import parse
from tuner.ir.nodes import Call, Cast, Const, Expr, For, If, Load, LoopKind, Scope, Store, Var
from tuner.ir.show import show
from tuner.ir.visit import loops, stores


def _value(text: str) -> Expr:
    program = parse(
        "def f(x: f32[5], h: f16[5], n: i8[5], q: i32[5], y: f32[5]):\n"
        f"    for i in range(5):\n        y[i] = {text}\n"
    )
    (store,) = stores(program.body)
    return store.value


X = Load("x", (Var("i"),), F32)
H = Load("h", (Var("i"),), F16)


def test_a_whole_program() -> None:
    program = parse("""
from tilewright import buffer, f32, grid

'''A docstring, and imports from tilewright, may stand before the program.'''

def row_sum(x: const[f32[4, 8]], y: f32[4]):
    \"\"\"So may one in it.\"\"\"
    t = buffer(f32[4], "local")  # a comment, with ünïcode
    for i, j in grid(4, 2 * 4):
        if j == 0:
            t[i] = 0
        t[i] += x[i, j]
    for i in unrolled(4):
        y[i] = t[i]
""")
    assert program.name == "row_sum"
    assert [(b.name, b.shape, b.const) for b in program.params] == [
        ("x", (4, 8), True), ("y", (4,), False),
    ]  # fmt: skip
    assert [(b.name, b.scope) for b in program.locals] == [("t", Scope.LOCAL)]
    assert [(f.var, f.extent, f.kind) for f in loops(program.body)] == [
        ("i", 4, LoopKind.SERIAL), ("j", 8, LoopKind.SERIAL), ("i_2", 4, LoopKind.UNROLLED),
    ]  # fmt: skip
    outer = program.body[0]
    assert isinstance(outer, For)
    inner = outer.body[0]
    assert isinstance(inner, For)
    guard, add = inner.body
    assert guard == If(
        Call("eq", (Var("j"), Const(0)), BOOL), (Store("t", (Var("i"),), Const(0.0, F32)),)
    )
    assert add == Store("t", (Var("i"),), Load("x", (Var("i"), Var("j")), F32), "add")


def test_literals_take_the_type_of_what_they_meet() -> None:
    assert _value("x[i] * 2") == Call("mul", (X, Const(2.0, F32)), F32)
    assert _value("2") == Const(2.0, F32)
    assert _value("-2 * 3 + 1") == Const(-5.0, F32)
    assert _value("exp(1)") == Call("exp", (Const(1.0, F32),), F32)
    assert _value("f32(n[i] + 1)") == Cast(
        F32, Call("add", (Load("n", (Var("i"),), I8), Const(1, I8)), I8)
    )
    assert _value("f32(i + 1)") == Cast(F32, Call("add", (Var("i"), Const(1)), INDEX))
    assert _value("0.1") == Const(0.10000000149011612, F32)
    assert _value("inf") == Const(float("inf"), F32)


def test_widths_meet_in_the_wider_one() -> None:
    assert _value("h[i] * x[i]") == Call("mul", (Cast(F32, H), X), F32)
    assert _value("h[i] * 2") == Cast(F32, Call("mul", (H, Const(2.0, F16)), F16))
    q, n = Load("q", (Var("i"),), I32), Load("n", (Var("i"),), I8)
    assert _value("f32(q[i] + n[i])") == Cast(F32, Call("add", (q, Cast(I32, n)), I32))


def test_comparisons_chain() -> None:
    low = Call("le", (Const(0), Var("i")), BOOL)
    high = Call("lt", (Var("i"), Const(3)), BOOL)
    value = _value("x[i] if 0 <= i < 3 else 0")
    assert value.cond == Call("and", (low, high), BOOL)  # type: ignore[union-attr]


def test_subscripts_are_of_index_type_from_the_load_on() -> None:
    value = _value("x[clamp(n[i], 0, 4)]")
    loaded = Cast(INDEX, Load("n", (Var("i"),), I8))
    inner = Call("max", (loaded, Const(0)), INDEX)
    assert value == Load("x", (Call("min", (inner, Const(4)), INDEX),), F32)


@pytest.mark.parametrize(("statement", "reduce"), [
    ("y[i] += x[i]", "add"), ("y[i] *= x[i]", "mul"), ("y[i] = max(y[i], x[i])", "max"),
    ("y[i] = min(x[i], y[i])", "min"), ("y[i] = max(x[i], 0)", None),
    ("y[i] = max(y[4 - i], x[i])", None), ("y[i] = y[i] + x[i]", None),
    ("y[i] = max(y[i], x[i], 0)", None),
])  # fmt: skip
def test_a_reduction_is_what_is_written_as_one(statement: str, reduce: str | None) -> None:
    program = parse(
        f"def f(x: f32[5], y: f32[5]):\n    for i in range(5):\n        y[i] = 0\n"
        f"    for i in range(5):\n        {statement}\n"
    )
    assert list(stores(program.body))[-1].reduce == reduce
    assert parse(show(program)) == program


def test_a_repeated_loop_name_gets_a_free_one() -> None:
    program = parse(
        "def f(i_2: f32[4], y: f32[4]):\n    for i in range(4): y[i] = 0\n"
        "    for i in range(4): y[i] = 1\n    for i_4 in range(4): y[i_4] = 2\n"
        "    for i in range(4): y[i] = 3\n"
    )
    assert [f.var for f in loops(program.body)] == ["i", "i_3", "i_4", "i_5"]
    assert parse(show(program)) == program


def test_the_largest_text_is_read() -> None:
    text = "def f(y: f32[4]):\n    y[0] = 0\n"
    padding = "#" * (MAX_SOURCE_BYTES - len(text) - 1) + "\n"
    assert parse(padding + text).name == "f"
