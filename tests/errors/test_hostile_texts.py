"""Texts made to break a parser end in a clean refusal, whatever they nest."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import LimitRefused, ProgramError
from tuner.frontends.limits import MAX_NESTING
from tuner.frontends.text import parse
from tuner.ir.canonical import canonicalize
from tuner.ir.interp import run
from tuner.ir.show import show
from tuner.ir.widen import widen

HEADER = "def f(x: f32[4], y: f32[4]):\n"


def _value(text: str) -> str:
    return f"{HEADER}    y[0] = {text}\n"


def _nested_ifs(depth: int) -> str:
    lines = [" " * (4 + n) + "if 0 < 1:\n" for n in range(depth)]
    return HEADER + "".join(lines) + " " * (4 + depth) + "y[0] = 0.0\n"


def _chain(depth: int) -> str:
    """Each level of this text holds the one below it twice once it is read."""
    text = "0"
    for _ in range(depth):
        text = f"(1 if 0 < {text} < 2 else 0)"
    return _value(f"f32({text} + 0 * i64(x[0]))")


HOSTILE = {
    "minus signs beyond the size": _value("-" * 100_000 + "x[0]"),
    "minus signs": _value("-" * 60_000 + "x[0]"),
    "spaced minus signs": _value("- " * 30_000 + "x[0]"),
    "parentheses beyond the size": _value("(" * 100_000 + "x[0]" + ")" * 100_000),
    "parentheses": _value("(" * 30_000 + "x[0]" + ")" * 30_000),
    "open parentheses": _value("(" * 60_000),
    "closing parentheses": _value(")" * 60_000),
    "brackets": _value("x[" * 15_000 + "0" + "]" * 15_000),
    "braces": _value("{" * 60_000),
    "nots": _value("not " * 15_000 + "x[0]"),
    "lambdas": _value("lambda:" * 9_000 + "x[0]"),
    "awaits": _value("await " * 10_000 + "x[0]"),
    "a long sum": _value("+".join(["x[0]"] * 10_000)),
    "a long product of literals": _value("*".join(["9"] * 30_000)),
    "powers": _value("**".join(["9"] * 30_000)),
    "conditionals": _value("x[0] if 0 < 1 else " * 3_000 + "x[0]"),
    "attributes": _value("x" + ".a" * 30_000),
    "calls": _value("x" + "()" * 30_000),
    "comparisons": _value("x[0]" + " < x[0]" * 8_000),
    "a long min": _value("min(" + ", ".join(["x[0]"] * 9_000) + ")"),
    "targets": f"{HEADER}    {'y[0] = ' * 9_000}0.0\n",
    "ifs": _nested_ifs(300),
    "ifs on one line": f"{HEADER}    {'if 0 < 1: ' * 5_000}y[0] = 0.0\n",
    "a huge integer": _value("9" * 60_000),
    "a huge hexadecimal": _value("0x" + "f" * 60_000),
    "a huge exponent": _value("1e" + "9" * 60_000),
    "a long name": _value("a" * 60_000),
    "a null byte": _value("\0"),
    "a null byte in a comment": f"{HEADER}    y[0] = 0.0 # \0\n",
    "a surrogate": _value("'\ud800'"),
    "a surrogate in a comment": f"{HEADER}    y[0] = 0.0 # \ud800\n",
    "nesting in an f-string": _value("f'{" + "-" * 60_000 + "x}'"),
    "operands that are read twice": _chain(20),
    "only newlines and an indent": "\n" * 60_000 + " x",
    "line continuations": _value("\\\n" * 30_000),
    "dedents": "if 1:\n" * 1 + "   a\n  b\n",
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_refused(text: str) -> None:
    with pytest.raises(ProgramError):
        parse(text)


def test_hostile_text_is_refused_on_a_small_stack() -> None:
    ended: list[str] = []

    def work() -> None:
        for name, text in HOSTILE.items():
            with pytest.raises(ProgramError):
                parse(text)
            ended.append(name)

    before = threading.stack_size(512 << 10)
    thread = threading.Thread(target=work)
    thread.start()
    threading.stack_size(before)
    thread.join()
    assert ended == list(HOSTILE)


@pytest.mark.parametrize(
    "text",
    [
        _value("-" * MAX_NESTING + "x[0]"),
        _value("(" * (MAX_NESTING - 1) + "x[0]" + ")" * (MAX_NESTING - 1)),
        _value("+".join(["x[0]"] * 100)),
        _value("min(" + ", ".join(["x[0]"] * 100) + ")"),
        _value("exp(" * 40 + "x[0]" + ")" * 40),
        _nested_ifs(MAX_NESTING - 1),
    ],
    ids=["minus", "parentheses", "sum", "min", "exp", "ifs"],
)
def test_what_is_within_the_limits_goes_all_the_way(text: str) -> None:
    program = parse(text)
    assert parse(show(program)) == program
    canonical, _ = canonicalize(program)
    inputs = {b.name: np.ones(b.shape, np.float32) for b in canonical.params[:-1]}
    assert set(run(canonical, inputs)) == {canonical.params[-1].name}
    assert len(run(widen(canonical), inputs)) == 2


def test_one_more_than_the_nesting_limit_is_refused() -> None:
    with pytest.raises(LimitRefused, match="nested more than 64 deep") as refused:
        parse(_value("(" * (MAX_NESTING + 1) + "x[0]" + ")" * (MAX_NESTING + 1)))
    assert (refused.value.line, refused.value.column) == (2, 12 + MAX_NESTING)


GOOD = """def f(x: f32[4, 4], w: const[f32[4]], y: f32[4]):
    t = buffer(f32[4], "local")
    for i, j in grid(4, 4):
        t[i] = 0.0
        if i + j >= 1:
            t[i] += x[i, j - 1] * -w[j] if j >= 1 else exp(1.0)
        y[i] = max(t[i], 0.0)
"""


@given(
    st.lists(
        st.tuples(
            st.integers(0, len(GOOD) - 1),
            st.integers(0, 6),
            st.sampled_from([*"()[]{}:,.-+*/%<>=#'\"\\\n\t 09aeix", "for ", "if ", "\0", "é"]),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_a_damaged_text_is_read_or_refused(edits: list[tuple[int, int, str]]) -> None:
    text = GOOD
    for position, length, new in edits:
        text = text[:position] + new + text[position + length :]
    try:
        program = parse(text)
    except ProgramError:
        return
    assert parse(show(program)) == program
