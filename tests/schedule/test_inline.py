"""inline."""

from dataclasses import replace

import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.programs import LAYERS
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.ir.show import show_body
from tuner.schedule.apply import apply
from tuner.schedule.steps import (
    CacheWrite,
    ComputeAt,
    Inline,
    Reorder,
    Schedule,
    Split,
    TransformLayout,
    Vectorize,
)

TRANSPOSED = """
def f(x: f32[7, 6], b: f32[6], y: f32[6, 7]):
    h = buffer(f32[7, 6])
    for i, j in grid(7, 6):
        h[i, j] = x[i, j] + b[j]
    for r, s in grid(6, 7):
        y[r, s] = max(h[s, r], 0.0)
"""


@pytest.mark.parametrize(
    "before",
    [
        (),
        (Split("i", 4, "i0", "i1"), Reorder(("i1", "i0", "j"))),
        (Split("i", 2, "i0", "i1"), Split("i0", 3, "i00", "i01")),
        (Split("i", 9, "i0", "i1"), Split("j", 4, "j0", "j1"), Vectorize("j1")),
        (TransformLayout("h", ("1", "0//4", "0%4"), (8, 6)),),
    ],
)
def test_whatever_was_done_to_the_producer(before):
    program = assert_same(parse(TRANSPOSED), (*before, Inline("h")))
    assert not program.locals
    assert show_body(program.body) == (
        "for r in range(6):\n    for s in range(7):\n        y[r, s] = max(x[s, r] + b[r], 0.0)"
    )


def test_guards_of_a_split_consumer_stay():
    steps = (Split("s", 4, "s0", "s1"), Split("i", 2, "i0", "i1"), Vectorize("s1"), Inline("h"))
    assert "if s0 * 4 + s1 < 7:" in show_body(assert_same(parse(TRANSPOSED), steps).body)


def test_bias_and_relu_as_the_epilogue_of_a_product():
    steps = (Inline("g"), Split("s", 4, "s0", "s1"), ComputeAt("h", "s0", ()))
    program = assert_same(parse(LAYERS), steps)
    assert [b.name for b in program.locals] == ["h"]
    assert show_body(program.body).endswith(
        "        for s1 in range(4):\n"
        "            if s0 * 4 + s1 < 7:\n"
        "                y[r, s0 * 4 + s1] = max(h[0, s1] + b[s0 * 4 + s1], 0.0)"
    )


def test_chain_of_stages():
    text = """
def f(x: i8[7], y: i8[7]):
    a = buffer(i8[7])
    b = buffer(i8[9])
    c = buffer(i8[7])
    for i in range(7):
        a[i] = x[i] * 100
    for j in range(9):
        b[j] = a[j - 1] if j >= 1 and j < 8 else 5
    for k in range(7):
        c[k] = b[k] + b[k + 2]
    for m in range(7):
        y[6 - m] = c[m] - x[0]
"""
    for order in ("abc", "cba", "bac"):
        program = assert_same(parse(text), tuple(Inline(name) for name in order))
        assert not program.locals


def test_the_cast_stays():
    text = """
def f(x: f32[6], y: f32[6]):
    h = buffer(f16[6])
    for i in range(6):
        h[i] = f16(x[i] * 0.1)
    for j in range(6):
        y[j] = f32(h[j]) * 3.0
"""
    program = assert_same(parse(text), (Inline("h"),))
    assert "y[j] = f32(f16(x[j] * 0.1)) * 3.0" in show_body(program.body)


def _same_block(statements: str) -> str:
    lines = "\n".join(f"        {line}" for line in statements.split("; "))
    return f"""
def f(x: i32[8], t: i32[8], y: i32[8]):
    h = buffer(i32[8])
    for p in range(8):
        t[p] = x[p]
        y[p] = 0
    for i in range(4):
{lines}
"""


@pytest.mark.parametrize(
    "statements",
    [
        "h[i] = x[i] + 1; y[i] = h[i] * 2",
        "h[2 * i] = x[i] + 1; y[i] = h[2 * i]",
        "h[0] = x[i]; y[i] = h[0]",
        "h[7 - i] = x[i]; y[i] += h[7 - i] * h[7 - i]",
        "h[i // 2 + 1] = x[i]; y[i] = h[i // 2 + 1]",
        "h[i] = y[i] + 1; y[i] = h[i] * 2",
        "t[i] = 3; h[i] = t[i] + y[i]; y[i] = h[i]; t[i] = 5",
    ],
)
def test_producer_and_consumer_in_one_iteration(statements):
    assert_same(parse(_same_block(statements)), (Inline("h"),))


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ("h[i] = x[i]; y[i] = h[i + 1]", "may read what h[i] does not write: that takes"),
        ("h[0] = x[i]; y[i] = h[i]", "h[i] may read what h[0] does not write: that takes"),
        (
            "h[i] = t[i]; t[i] = 3; y[i] = h[i]",
            "t[i] may be written, as t[i], between where it is read now and where t[i] would be",
        ),
        ("h[i] = t[i]; t[2 * i] = 3; y[i] = h[i]", "t[i] may be written, as t[2 * i], between"),
        ("h[i] = x[i]; h[i] += 2; y[i] = h[i]", "found h[i] (assign), h[i] (add): use compute_at"),
        ("h[i] = x[i]; y[i] = x[clamp(h[i], 0, 7)]", "what a subscript reads stays in a buffer"),
        ("h[i] = x[i]; y[i] = x[i]", "nothing reads 'h'"),
    ],
)
def test_refusals_in_one_iteration(statements, message):
    _refused(_same_block(statements), (Inline("h"),), message)


def _refused(text: str, steps: Schedule, message: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        apply(parse(text), steps)
    assert message in caught.value.message


def _two_nests(produce: str, consume: str) -> str:
    return f"""
def f(x: i32[8], t: i32[8], y: i32[8]):
    h = buffer(i32[8])
    for p in range(8):
        t[p] = x[p]
    for i in range(4):
        for r in range(2):
            {produce}
    for j in range(4):
        {consume}
"""


@pytest.mark.parametrize(
    ("produce", "consume"),
    [
        ("h[2 * i + r] = x[i] + r", "y[j] = h[j]"),
        ("h[i + 4 * r] = x[i] + r", "y[j] = h[j + 4]"),
        ("h[i] = x[i]", "y[j] = h[j]"),
        ("h[3 - i] = x[i]", "y[j] = h[j] if j < 3 else h[0]"),
        ("h[2 * i] = x[i]", "y[j] = h[j] if j % 2 == 0 and j < 1 else 0"),
        ("h[i] = t[i]", "t[j] = h[j]"),
    ],
)
def test_between_nests(produce, consume):
    text = _two_nests(produce, consume)
    assert_same(parse(text if "y[" in consume else text + "        y[j] = 1"), (Inline("h"),))


@pytest.mark.parametrize(
    ("produce", "consume", "message"),
    [
        ("h[i] = x[i] + r", "y[j] = h[j]", "is computed anew in each iteration of r, and its"),
        ("h[i + r] = x[i]", "y[j] = h[j]", "does not tell which iteration touches an element"),
        ("h[i // 2 + r] = x[i]", "y[j] = h[j]", "does not tell which iteration touches an elem"),
        ("h[2 * i] = x[i]", "y[j] = h[j]", "does not write: that takes j % 2 == 0"),
        ("h[i] = x[i]", "y[j] = h[j + 1]", "does not write: that takes j + 1 < 4; guard the read"),
        ("h[i] = t[i]", "t[j + 1] = h[j]", "may be written, as t[j + 1], between"),
    ],
)
def test_refusals_between_nests(produce, consume, message):
    text = _two_nests(produce, consume)
    _refused(text if "y[" in consume else text + "        y[j] = 1", (Inline("h"),), message)


def test_a_guarded_producer_needs_a_guarded_read():
    text = """
def f(x: f32[8], y: f32[8]):
    h = buffer(f32[8])
    for i in range(8):
        if i >= 1:
            h[i] = x[i - 1] * 2.0
    for j in range(8):
        y[j] = h[j]{guard}
"""
    program = assert_same(parse(text.format(guard=" if j >= 1 else 0.0")), (Inline("h"),))
    assert "y[j] = x[j - 1] * 2.0 if j >= 1 else 0.0" in show_body(program.body)
    _refused(text.format(guard=""), (Inline("h"),), "that takes j >= 1; guard the read by it")


def test_a_read_that_comes_first():
    program = parse(TRANSPOSED)
    with pytest.raises(ScheduleError, match=r"h\[s, r\] is read before h\[i, j\] is written"):
        apply(replace(program, body=program.body[::-1]), (Inline("h"),))


def test_other_refusals():
    _refused(TRANSPOSED, (Inline("z"),), "no buffer is called 'z'")
    _refused(TRANSPOSED, (Inline("y"),), "'y' is a parameter: only intermediate buffers")
    _refused(LAYERS, (Inline("h"),), "expected one assignment that computes the buffer; found")
    cached = (CacheWrite("h", "j", "acc", (), (), ("u", "v")), Inline("acc"))
    _refused(LAYERS, cached, "acc[0, 0] (assign), acc[0, 0] (add)")


def test_expressions_stay_of_readable_size():
    stages = "".join(
        f"    for k{n} in range(4):\n        h{n}[k{n}] = h{n - 1}[k{n}] * h{n - 1}[k{n}]\n"
        for n in range(1, 13)
    )
    buffers = "".join(f"    h{n} = buffer(i32[4])\n" for n in range(13))
    text = (
        f"def f(x: i32[4], y: i32[4]):\n{buffers}    for i0 in range(4):\n        h0[i0] = x[i0]\n"
        f"{stages}    for j in range(4):\n        y[j] = h12[j]\n"
    )
    steps = tuple(Inline(f"h{n}") for n in range(13))
    _refused(text, steps, "the expression has more than 4096 nodes: keep the buffer")
