"""The printer: few parentheses, and every form reads back."""

from __future__ import annotations

import pytest

from tuner.dtypes import F32, INDEX
from tuner.frontends.text import parse
from tuner.ir.nodes import Broadcast, Const, For, LoopKind, Ramp, Reduce, Store, Var
from tuner.ir.show import show, show_body, show_expr

#: value as written -> value as shown, in `y[i] = …` for an f32 y
VALUES = {
    "((x[i] * 2) + 1)": "x[i] * 2.0 + 1.0",
    "x[i] * (2 + x[i])": "x[i] * (2.0 + x[i])",
    "x[i] - (x[i] - 1)": "x[i] - (x[i] - 1.0)",
    "(x[i] - x[i]) - 1": "x[i] - x[i] - 1.0",
    "x[i] / (x[i] * x[i])": "x[i] / (x[i] * x[i])",
    "-(x[i] + 1)": "-(x[i] + 1.0)",
    "- - x[i]": "--x[i]",
    "-x[i] * +3": "-x[i] * 3.0",
    "x[i] * -3": "x[i] * -3.0",
    "0.1 * x[i]": "0.1 * x[i]",
    "1e-30 * x[i]": "1e-30 * x[i]",
    "1/3 + x[i]": "0.33333334 + x[i]",
    "(x[i] if i < 2 else 0) + 1": "(x[i] if i < 2 else 0.0) + 1.0",
    "1 if i < 2 else 2 if i < 3 else 3": "1.0 if i < 2 else 2.0 if i < 3 else 3.0",
    "select(i < 2, select(i < 1, 1, 2), 3)": "(1.0 if i < 1 else 2.0) if i < 2 else 3.0",
    "x[i] if 0 <= i < 3 and not (i == 1 or i > 2) else 0": (
        "x[i] if 0 <= i and i < 3 and not (i == 1 or i > 2) else 0.0"
    ),
    "x[i] if (i < 2 or i > 3) and i != 4 else 0": "x[i] if (i < 2 or i > 3) and i != 4 else 0.0",
    "x[i] if i < 2 and (i > 0 and i != 4) else 0": "x[i] if i < 2 and (i > 0 and i != 4) else 0.0",
    "x[i] if (x[i] > 1) == (i < 2) else 0": "x[i] if (x[i] > 1.0) == (i < 2) else 0.0",
    "max(x[i], 1, x[i] + 1)": "max(x[i], 1.0, x[i] + 1.0)",
    "max(max(x[i], 1), 2)": "max(x[i], 1.0, 2.0)",
    "max(1, max(x[i], 2))": "max(1.0, max(x[i], 2.0))",
    "min(max(x[i], 0), 1)": "clamp(x[i], 0.0, 1.0)",
    "clamp(x[i], -inf, 1)": "clamp(x[i], -inf, 1.0)",
    "f64(x[i]) * 0.1": "f32(f64(x[i]) * 0.1)",
    "h[i] * x[i]": "f32(h[i]) * x[i]",
    "f32(i) * f32(3)": "f32(i) * 3.0",
    "f32(1 < 2)": "f32(1 < 2)",
    "f32(i8(3) + i8(i))": "f32(3 + i8(i))",
    "exp(1) + x[i]": "exp(1.0) + x[i]",
    "x[(i + 1) % 5]": "x[(i + 1) % 5]",
    "x[i // 2 * 2]": "x[i // 2 * 2]",
    "x[(i - 0) // 2 % 3]": "x[(i - 0) // 2 % 3]",
    "x[clamp(ids[i], 0, 4)]": "x[clamp(i64(ids[i]), 0, 4)]",
}


@pytest.mark.parametrize(("written", "shown"), VALUES.items(), ids=VALUES.keys())
def test_a_value_is_shown_with_the_parentheses_it_needs(written: str, shown: str) -> None:
    program = parse(
        "def f(x: f32[5], h: f16[5], ids: i32[5], y: f32[5]):\n"
        f"    for i in range(5):\n        y[i] = {written}\n"
    )
    text = show(program)
    assert text.splitlines()[-1].strip() == f"y[i] = {shown}"
    assert parse(text) == program


EVERYTHING = """\
def f(x: f32[4, 8], w: const[i8[8]], y: f32[4, 8], b: bool[4]):
    t = buffer(f32[4], "local")
    h = buffer(f64[4, 8])
    for i in unrolled(4):
        b[i] = i < 2
        for j in vectorized(8):
            h[i, j] = 2.5
            h[i, j] *= f64(w[j])
    for i_2 in range(4):
        t[i_2] = -inf
        for j_2 in range(8):
            t[i_2] = max(t[i_2], x[i_2, j_2])
            if i_2 * 8 + j_2 < 30:
                y[i_2, j_2] = min(x[i_2, j_2], 0.0, t[i_2])
                y[i_2, j_2] = min(y[i_2, j_2], 1.0)
                y[i_2, j_2] += t[i_2]
"""


def test_a_program_with_every_statement_is_shown_as_it_was_written() -> None:
    assert show(parse(EVERYTHING)) == EVERYTHING


def test_lowered_nodes_are_readable() -> None:
    lanes = Ramp(Var("i"), 2, 8)
    assert show_expr(lanes) == "ramp(i, 2, 8)"
    assert show_expr(Broadcast(Const(1.0, F32), 8), F32) == "broadcast(1.0, 8)"
    assert show_expr(Reduce("max", Broadcast(Var("i"), 4))) == "reduce_max(broadcast(i, 4))"
    body = (For("i", 2, LoopKind.SERIAL, (Store("x", (lanes,), Const(1.0, F32), "add"),)),)
    assert show_body(body) == "for i in range(2):\n    x[ramp(i, 2, 8)] += 1.0"


@pytest.mark.parametrize(("value", "text"), [
    (Const(2.0, F32), "f32(2.0)"), (Const(2), "2"), (Const(-2), "-2"),
])  # fmt: skip
def test_a_literal_names_its_type_where_nothing_else_does(value: Const, text: str) -> None:
    assert show_expr(value) == text
    assert show_expr(value, value.dtype) == text.removeprefix("f32(").removesuffix(")")
    assert value.dtype in (F32, INDEX)
