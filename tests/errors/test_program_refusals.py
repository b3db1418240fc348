"""One case for each refusal of a program text: its kind, its place, and what it says."""

from __future__ import annotations

import pytest

from tuner.errors import BoundsRefused, LimitRefused, ProgramError, SyntaxRefused
from tuner.frontends.text import parse

HEADER = "def f(x: f32[5], ids: i32[5], w: const[f32[5]], m: f32[3, 5], y: f32[5]):\n"

#: (statement inside `for i in range(5):`, kind, column in its line, part of the message)
STATEMENTS = [
    # not Python, or not this part of it
    ("y[i] = = 1", SyntaxRefused, 16, "not Python"),
    ("y[i] = x[i", SyntaxRefused, 0, "not Python"),
    ("y[i] = 'a", SyntaxRefused, 0, "not Python"),
    ("y[i] = x[i] $ 2", SyntaxRefused, 0, "not Python"),
    ("y[i] = x[i] ** 2", SyntaxRefused, 16, "not in the language: x[i] ** 2"),
    ("y[i] = x[i] @ x[i]", SyntaxRefused, 16, "not in the language"),
    ("y[i] = i << 2", SyntaxRefused, 16, "not in the language: i << 2"),
    ("y[i] = [1.0]", SyntaxRefused, 16, "not in the language"),
    ("y[i] = lambda: 1.0", SyntaxRefused, 16, "not in the language"),
    ("y[i] = (z := 1.0)", SyntaxRefused, 17, "not in the language"),
    ("y[i] = sum(x[j] for j in range(5))", SyntaxRefused, 16, "unknown function 'sum'"),
    ("y[i] = x.T[i]", SyntaxRefused, 16, "only a buffer's name can be subscripted"),
    ("y[i] = x[i][0]", SyntaxRefused, 16, "only a buffer's name can be subscripted"),
    ("y[i] = f'{x[i]}'", SyntaxRefused, 16, "no f-string"),
    ("y[i] = b'a'", SyntaxRefused, 16, "no prefix"),
    ("y[i] = '\\n'", SyntaxRefused, 16, "no backslash"),
    ("y[i] = None", SyntaxRefused, 16, "not in the language: None"),
    ("y[i] = 2j", SyntaxRefused, 16, "not in the language: 2j"),
    ("y[i] = y", SyntaxRefused, 16, "buffer 'y' without subscripts"),
    ("y[i] = x[i] is 0.0", SyntaxRefused, 16, "not in the language"),
    ("import os", SyntaxRefused, 9, "not in the language"),
    ("exec('1')", SyntaxRefused, 9, "not in the language"),
    ("while True: y[i] = 0.0", SyntaxRefused, 9, "not in the language"),
    ("return y", SyntaxRefused, 9, "not in the language"),
    ("y[i], y[0] = 0.0, 1.0", SyntaxRefused, 9, "not in the language"),
    ("y[i] = y[0] = 0.0", SyntaxRefused, 9, "not in the language"),
    ("y[i]: f32 = 0.0", SyntaxRefused, 9, "not in the language"),
    ("y[i] -= x[i]", SyntaxRefused, 9, "reductions are +=, *="),
    ("y[0:5] = 0.0", SyntaxRefused, 11, "slices are not in the language"),
    ("y[i] = 0.0 if i < 3 else (yield)", SyntaxRefused, 0, "not in the language"),
    # names
    ("y[i] = x[j]", SyntaxRefused, 18, "unknown name 'j'; the loops here are: i"),
    ("y[i] = q[i]", SyntaxRefused, 16, "unknown buffer 'q'; there are: x, ids, w, m, y"),
    ("y[i] = sine(x[i])", SyntaxRefused, 16, "unknown function 'sine'"),
    ("for i in range(5): y[i] = 0.0", SyntaxRefused, 13, "'i' is already taken"),
    ("for x in range(5): y[x] = 0.0", SyntaxRefused, 13, "'x' is already taken"),
    ("for max in range(5): y[max] = 0.0", SyntaxRefused, 13, "'max' is a word of the language"),
    ("for range in range(5): y[0] = 0.0", SyntaxRefused, 13, "word of the language"),
    ("for é in range(5): y[0] = 0.0", SyntaxRefused, 13, "printable ASCII"),
    ("t = x[i]", SyntaxRefused, 9, "a scalar is a buffer of one element"),
    ("t = buffer(f32[1])", SyntaxRefused, 9, "outside of loops"),
    # loops and conditions
    ("for j in range(0): y[i] = 0.0", SyntaxRefused, 24, "a positive integer literal"),
    ("for j in range(-3): y[i] = 0.0", SyntaxRefused, 24, "found -3"),
    ("for j in range(2.0): y[i] = 0.0", SyntaxRefused, 24, "found 2.0"),
    ("for j in range(i): y[i] = 0.0", SyntaxRefused, 24, "found i"),
    ("for j in range(1, 3): y[i] = 0.0", SyntaxRefused, 18, "with 2 operands"),
    ("for j in x: y[i] = 0.0", SyntaxRefused, 18, "a loop is over range(n)"),
    ("for j, k in grid(2): y[i] = 0.0", SyntaxRefused, 21, "1 operands for 2 loop names"),
    ("for j, k in range(2): y[i] = 0.0", SyntaxRefused, 21, "for 2 loop names"),
    ("for y[i] in range(2): y[i] = 0.0", SyntaxRefused, 13, "must be a plain name"),
    ("for j in range(2): pass", SyntaxRefused, 9, "an empty loop"),
    ("if i < 2: pass", SyntaxRefused, 9, "an empty if"),
    ("if x[i] > 0.0: y[i] = 0.0", SyntaxRefused, 12, "reads data"),
    ("if f32(i) < 2.5: y[i] = 0.0", SyntaxRefused, 12, "is not on integers alone"),
    ("for j in range(1073741825): y[i] = 0.0", LimitRefused, 24, "the limit is 1073741824"),
    ("if i: y[i] = 0.0", SyntaxRefused, 12, "a condition of type i64"),
    ("y[i] = 1.0 if x[i] else 0.0", SyntaxRefused, 23, "a condition of type f32"),
    # types
    ("y[i] = i", SyntaxRefused, 16, "convert it: f32(i)"),
    ("y[i] = x[i] * i", SyntaxRefused, 16, "f32 and i64 meet in x[i] * i"),
    ("y[i] = x[i] + ids[i]", SyntaxRefused, 16, "as in f32(...)"),
    ("y[i] = x[i] < 0.0", SyntaxRefused, 16, "a value of type bool for a buffer of f32"),
    ("y[i] = x[i] + (x[i] < 0.0)", SyntaxRefused, 16, "f32 and bool meet"),
    ("y[i] = f32(ids[i] * 0.5)", SyntaxRefused, 29, "0.5 is a float literal where i32"),
    ("y[i] = f32(ids[i] + 3000000000)", SyntaxRefused, 29, "does not fit i32"),
    ("y[i] = f32(ids[i] / 2)", SyntaxRefused, 20, "div of i32 values"),
    ("y[i] = f32(exp(ids[i]))", SyntaxRefused, 20, "exp of i32 values"),
    ("y[i] = x[i] // 2.0", SyntaxRefused, 16, "write floor(...)"),
    ("y[i] = 1e39", SyntaxRefused, 16, "too large for f32"),
    ("y[i] = 1e999", SyntaxRefused, 16, "write inf"),
    ("y[i] = 1 / 0", SyntaxRefused, 16, "division of literals by zero"),
    ("y[i] = inf - inf", SyntaxRefused, 16, "not a number"),
    ("y[i] = max(x[i])", SyntaxRefused, 16, "max takes two or more plain operands"),
    ("y[i] = exp(x[i], x[i])", SyntaxRefused, 16, "exp takes 1 plain operands"),
    ("y[i] = exp(v=x[i])", SyntaxRefused, 16, "plain operands"),
    ("y[i] = max(*x[i], 1.0)", SyntaxRefused, 16, "plain operands"),
    ("y[i] = 1.0 if (i < 2) < (i < 3) else 0.0", SyntaxRefused, 23, "bool values have no order"),
    ("y[i] = f32((i < 2) + (i < 3))", SyntaxRefused, 20, "add of bool values"),
    # ranks, subscripts, bounds
    ("y[i] = m[i]", SyntaxRefused, 16, "1 subscripts for a buffer of rank 2, m: f32[3, 5]"),
    ("y[i, 0] = 0.0", SyntaxRefused, 9, "2 subscripts for a buffer of rank 1"),
    ("y[x[i]] = 0.0", SyntaxRefused, 11, "a subscript of type f32"),
    ("w[i] = 0.0", SyntaxRefused, 9, "'w' is const"),
    ("y[i] = x[i * i]", SyntaxRefused, 16, "i * i is not affine"),
    ("y[i] = x[5 % (i + 1)]", SyntaxRefused, 16, "not affine"),
    ("y[i] = x[i // -1 + 4]", SyntaxRefused, 16, "not affine"),
    ("y[i] = x[i // 0]", SyntaxRefused, 16, "not affine"),
    ("y[i] = x[min(i, 4)]", SyntaxRefused, 16, "not affine"),
    ("y[i] = f32(ids[i] // ids[0])", SyntaxRefused, 20, "a positive literal on the right"),
    ("y[i] = f32(ids[i] % -3)", SyntaxRefused, 20, "a positive literal on the right"),
    ("y[i] = x[ids[i]]", SyntaxRefused, 16, "clamp(t[i], low, high)"),
    ("y[ids[i]] = 0.0", SyntaxRefused, 11, "the place of a store cannot depend on data"),
    ("y[i] = x[clamp(ids[i], 0, 5)]", BoundsRefused, 16, "runs from 0 to 5"),
    ("y[i] = x[clamp(ids[i], -1, 4)]", BoundsRefused, 16, "runs from -1 to 4"),
    ("y[i] = x[clamp(ids[i + 1], 0, 4)]", BoundsRefused, 24, "ids[i + 1]: subscript 1"),
    ("y[i] = x[i + 1]", BoundsRefused, 16, "i + 1, runs from 1 to 5, but x: f32[5] has 0 to 4"),
    ("y[i] = x[i - 1]", BoundsRefused, 16, "runs from -1 to 3"),
    ("y[i] = m[i, i]", BoundsRefused, 16, "m[i, i]: subscript 1, i, runs from 0 to 4"),
    ("y[2 * i] = 0.0", BoundsRefused, 9, "y[2 * i]: subscript 1, 2 * i, runs from 0 to 8"),
    ("y[i] = x[i - 1] if i >= 0 else 0.0", BoundsRefused, 16, "runs from -1 to 3"),
    ("y[i] = 0.0 if i >= 1 else x[i - 1]", BoundsRefused, 35, "runs from -1 to -1"),
    ("y[i] = 1.0 if i >= 1 and x[i - 1] > 0.0 else 0.0", BoundsRefused, 34, "x[i - 1]"),
    ("y[i] = x[i - 1] if i >= 1 or i < 9 else 0.0", BoundsRefused, 16, "runs from -1"),
    ("y[i] = x[9223372036854775807]", BoundsRefused, 16, "runs from 9223372036854775807"),
    ("y[i] = x[i * 281474976710656 // 281474976710656]", LimitRefused, 18, "below 2**48"),
    ("y[i] = x[i] if i * 281474976710656 < 7 else x[i]", LimitRefused, 24, "below 2**48"),
    (  # wraps around: proves nothing, however contradictory it looks
        "y[i] = x[i + 9] if i64(f32(i + 1) * 1e30) + 1 <= 0 and i64(f32(i + 1) * 1e30) >= 9 "
        "else 0.0",
        BoundsRefused,
        16,
        "runs from 9 to 13",
    ),
    (
        "y[i] = x[i + 9] if i64(ids[i]) + 1 <= 0 and i64(ids[i]) >= 9 else 0.0",
        BoundsRefused,
        16,
        "runs from 9 to 13",
    ),
    # start values
    ("y[i] += x[i]", SyntaxRefused, 9, "has no start value; store one before it: y[i] = 0.0"),
    ("y[i] *= x[i]", SyntaxRefused, 9, "y[i] = 1.0"),
    ("y[i] = max(y[i], x[i])", SyntaxRefused, 9, "y[i] = -inf"),
    ("y[i] = min(x[i], y[i])", SyntaxRefused, 9, "y[i] = inf"),
    ("y[i] = y[i] + x[i]", SyntaxRefused, 16, "y[i] is read before any store"),
    # limits
    ("y[i] = 99999999999999999999", LimitRefused, 16, "beyond 64 bits"),
    ("y[i] = 9223372036854775807 * 9 * x[i]", LimitRefused, 16, "beyond 64 bits"),
    (f"y[i] = {'9' * 5000}", ProgramError, 0, ""),
    (f"y[i] = 0x{'f' * 5000}", LimitRefused, 16, "beyond 64 bits"),
    (f"for {'a' * 65} in range(2): y[i] = 0.0", LimitRefused, 13, "the limit is 64"),
]


@pytest.mark.parametrize(("statement", "kind", "column", "message"), STATEMENTS)
def test_a_statement_is_refused_where_it_is_wrong(
    statement: str, kind: type[ProgramError], column: int, message: str
) -> None:
    with pytest.raises(kind) as refused:
        parse(f"{HEADER}    for i in range(5):\n        {statement}\n")
    assert message in refused.value.message
    if column:
        assert (refused.value.line, refused.value.column) == (3, column)


BODY = "    for i in range(4):\n        y[i] = x[i]\n"

#: (whole text, kind, line, part of the message)
TEXTS = [
    (
        "def f(x: bf16[4], y: bf16[4]):\n    for i in range(4):\n        y[i] = x[i] * 2.0\n",
        SyntaxRefused, 3, "x[i] is computed with, but bf16 is a type to store in only",
    ),
    (
        "def f(x: f32[4], y: bf16[1]):\n    y[0] = 0\n"
        "    for i in range(4):\n        y[0] += x[i]\n",
        SyntaxRefused, 4, "y[0] is accumulated into, but bf16 is a type to store in only",
    ),
    ("", SyntaxRefused, 1, "no program found"),
    ("x = 1\n", SyntaxRefused, 1, "only one `def` may stand here"),
    ("import os\n", SyntaxRefused, 1, "only one `def`"),
    (f"def f(x: f32[4], y: f32[4]):\n{BODY}" * 2, SyntaxRefused, 4, "a second function"),
    (f"async def f(x: f32[4], y: f32[4]):\n{BODY}", SyntaxRefused, 1, "only one `def`"),
    (f"class f:\n  def g(x: f32[4], y: f32[4]):\n    {BODY}", SyntaxRefused, 0, ""),
    (f"@jit\ndef f(x: f32[4], y: f32[4]):\n{BODY}", SyntaxRefused, 2, "decorators"),
    (f"def f(x: f32[4], y: f32[4]) -> f32:\n{BODY}", SyntaxRefused, 1, "return types"),
    (f"def f(x, y: f32[4]):\n{BODY}", SyntaxRefused, 1, "parameter 'x' has no type"),
    (f"def f(x: f32[4], y: f32[4] = 0):\n{BODY}", SyntaxRefused, 1, "no defaults"),
    (f"def f(*x: f32[4], y: f32[4]):\n{BODY}", SyntaxRefused, 1, "parameters are plain"),
    (f"def f(x: f32[4], y: f32[4], /):\n{BODY}", SyntaxRefused, 1, "parameters are plain"),
    (f"def f(x: f32[4], x: f32[4]):\n{BODY}", SyntaxRefused, 1, ""),
    (f"def f(x: f99[4], y: f32[4]):\n{BODY}", SyntaxRefused, 1, "the element types are: f64"),
    (f"def f(x: f32, y: f32[4]):\n{BODY}", SyntaxRefused, 1, "is not a buffer's type"),
    (f"def f(x: f32[0], y: f32[4]):\n{BODY}", SyntaxRefused, 1, "a dimension of 'x'"),
    (f"def f(x: f32[-4], y: f32[4]):\n{BODY}", SyntaxRefused, 1, "found -4"),
    (f"def f(x: f32[n], y: f32[4]):\n{BODY}", SyntaxRefused, 1, "shapes being static; found n"),
    (f"def f(x: f32[()], y: f32[4]):\n{BODY}", SyntaxRefused, 1, "1 to 8 dimensions"),
    (f"def f(x: f32[1,1,1,1,1,1,1,1,1], y: f32[4]):\n{BODY}", SyntaxRefused, 1, "found 9"),
    (f"def f(inf: f32[4], y: f32[4]):\n{BODY}", SyntaxRefused, 1, "'inf' is a word"),
    (f"def buffer(x: f32[4], y: f32[4]):\n{BODY}", SyntaxRefused, 1, "'buffer' is a word"),
    ("def f(x: f32[4], y: f32[4]):\n    pass\n", SyntaxRefused, 1, "computes nothing"),
    (
        "def f(x: f32[4], y: f32[4]):\n    t = buffer(f32[4])\n    t[0] = x[0]\n",
        SyntaxRefused, 0, "no parameter is stored into",
    ),
    (f"def f(x: f32[4], y: f32[4]):\n    y = buffer(f32[4])\n{BODY}", SyntaxRefused, 2, "taken"),
    (
        f"def f(x: f32[4], y: f32[4]):\n{BODY}    i = buffer(f32[4])\n", SyntaxRefused, 4, "'i'",
    ),
    (
        f"def f(x: f32[4], y: f32[4]):\n    t = buffer(f32[4], 'texture')\n{BODY}",
        SyntaxRefused, 2, 'scope is "local", "shared" or "global"',
    ),
    (
        f"def f(x: f32[4], y: f32[4]):\n    t = buffer(const[f32[4]])\n{BODY}",
        SyntaxRefused, 2, "only a parameter can be const",
    ),
    (
        "def f(x: f32[4], y: f32[4]):\n    if 1 < 2:\n        y[0] = 0.0\n    else:\n"
        "        y[0] = 1.0\n",
        SyntaxRefused, 2, "no else here",
    ),
    (
        "def f(x: f32[4], y: f32[4]):\n    t = buffer(f32[4])\n    for i in range(4):\n"
        "        y[i] = t[i]\n",
        SyntaxRefused, 4, "t[i] is read before any store gives 't' a value",
    ),
    # sizes
    (
        f"def f(x: f32[300000000], y: f32[4]):\n{BODY}", LimitRefused, 1,
        "buffer 'x' has 1200000000 bytes; the limit is 1073741824",
    ),
    (
        "def f(" + ", ".join(f"x{n}: f32[268435456]" for n in range(5)) + f", y: f32[4]):\n{BODY}",
        LimitRefused, 1, "all buffers together have 5368709120 bytes",
    ),
    (
        f'def f(x: f32[4], y: f32[4]):\n    t = buffer(f32[20000], "local")\n{BODY}',
        LimitRefused, 2, 'the limit is 65536 for a "local" one',
    ),
    (
        "def f(x: f32[4], y: f32[4]):\n"
        + "".join(f'    t{n} = buffer(f32[16384], "local")\n' for n in range(5)) + BODY,
        LimitRefused, 6, "all buffers together have 327680 bytes",
    ),
    (
        f"def f({', '.join(f'x{n}: f32[4]' for n in range(65))}):\n    x0[0] = 0.0\n",
        LimitRefused, 1, "more than 64 buffers",
    ),
    (
        "def f(y: f32[1]):\n" + "    for i in range(1): y[i] = 0.0\n" * 257,
        LimitRefused, 258, "more than 256 loops",
    ),
    (
        "def f(y: f32[1]):\n" + "    y[0] = 0.0\n" * 1025,
        LimitRefused, 1026, "more than 1024 statements",
    ),
    (
        "def f(y: f32[1]):\n    y[0] = 0.0\n"
        + ("    y[0] = max(" + ", ".join(["y[0]"] * 100) + ")\n") * 100,
        LimitRefused, 0, "more than 20000 expression nodes",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "line", "message"), TEXTS)
def test_a_text_is_refused(text: str, kind: type[ProgramError], line: int, message: str) -> None:
    with pytest.raises(kind) as refused:
        parse(text)
    assert message in refused.value.message
    if line:
        assert refused.value.line == line
