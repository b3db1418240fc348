"""pack."""

import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.programs import conv2d, matmul
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.ir.nodes import Scope
from tuner.ir.show import show_body
from tuner.schedule.apply import apply
from tuner.schedule.steps import Pack, Split, Vectorize

LAYOUTS = [
    ("0", "1"),
    ("1", "0"),
    ("1//4", "0", "1%4"),
    ("0//4", "1", "0%4"),
    ("0//3", "1//2", "1%2", "0%3"),
    ("1%7", "0", "1//7"),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [(5, 8, 6), (1, 1, 1), (3, 7, 11)])
def test_layouts(size, layout):
    loops = tuple(f"p{n}" for n in range(len(layout)))
    program = assert_same(matmul(*size), (Pack("b", "bp", "", layout, loops),))
    assert program.buffer("bp").scope == Scope.GLOBAL


def test_copy_and_reads():
    pack = Pack("b", "bp", "", ("1//4", "0", "1%4"), ("p", "q", "r"))
    program = assert_same(matmul(2, 6, 3), (pack,))
    assert program.buffer("bp").shape == (2, 3, 4)
    assert show_body(program.body) == (
        "for p in range(2):\n"
        "    for q in range(3):\n"
        "        for r in range(4):\n"
        "            bp[p, q, r] = b[q, p * 4 + r] if p * 4 + r < 6 else 0.0\n"
        "for i in range(2):\n"
        "    for j in range(6):\n"
        "        c[i, j] = 0.0\n"
        "        for k in range(3):\n"
        "            c[i, j] += a[i, k] * bp[j // 4, k, j % 4]"
    )


def test_split_by_the_same_factor_removes_the_divisions():
    pack = Pack("b", "bp", "", ("1//4", "0", "1%4"), ("p", "q", "r"))
    program = assert_same(matmul(2, 6, 3), (pack, Split("j", 4, "j0", "j1")))
    assert "bp[j0, k, j1]" in show_body(program.body)


@pytest.mark.parametrize("loop", ["i", "j"])
def test_inside_a_loop(loop):
    pack = Pack("b", "bp", loop, ("1//3", "0", "1%3"), ("p", "q", "r"))
    program = assert_same(matmul(3, 5, 4), (pack,))
    assert program.body[0].body[0].var == ("p" if loop == "i" else "j")
    assert program.buffer("bp").shape == ((2, 4, 3) if loop == "i" else (1, 4, 3))


@pytest.mark.parametrize("size", [(2, 5, 2, 3, 1), (3, 4, 3, 3, 2), (2, 5, 2, 3, 0)])
def test_padding_is_part_of_the_copy(size):
    c, side, _, _, pad = size
    layout = ("0", "1", "2", "3")
    program = assert_same(conv2d(*size), (Pack("x", "xp", "", layout, ("u", "v", "p0", "q0")),))
    assert program.buffer("xp").shape == (1, c, side + 2 * pad, side + 2 * pad)
    assert "y[n, f, i, j] += xp[0, c, i + p, j + q] * w[f, c, p, q]" in show_body(program.body)


def test_other_conditions_stay():
    text = """
def f(x: f32[6], y: f32[8]):
    for i in range(8):
        y[i] = x[i - 1] if i >= 1 and i < 7 and i % 2 < 1 else 0.0
"""
    program = assert_same(parse(text), (Pack("x", "xp", "", ("0",), ("p",)),))
    assert program.buffer("xp").shape == (8,)
    assert "y[i] = xp[i] if i % 2 < 1 else 0.0" in show_body(program.body)


@pytest.mark.parametrize(
    "value",
    [
        "x[i - 1] if i >= 1 and i < 7 else 1.0",
        "x[i - 1] if i >= 2 and i < 7 else 0.0",
        "x[i - 1] if i >= 1 and i < 6 else 0.0",
        "0.0 if i < 1 or i > 6 else x[i - 1]",
        "x[i // 2] + x[3]",
        "x[5 - i] if i < 6 else 0.0",
        "x[clamp(t[i], 0, 5)]",
    ],
)
def test_what_is_not_plain_padding(value):
    text = f"""
def f(x: f32[6], t: i32[8], y: f32[8]):
    for i in range(8):
        y[i] = {value}
"""
    assert_same(parse(text), (Pack("x", "xp", "", ("0//4", "0%4"), ("p", "q")),))


CHAIN = """
def f(x: f32[6], y: f32[6]):
    h = buffer(f32[6])
    for i in range(6):
        h[i] = x[i] + 1.0
    for j in range(6):
        y[j] = h[5 - j]
"""


def test_an_intermediate_buffer_is_packed_after_it_is_written():
    program = assert_same(parse(CHAIN), (Pack("h", "hp", "", ("0//4", "0%4"), ("p", "q")),))
    assert [stmt.var for stmt in program.body] == ["i", "p", "j"]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Pack("z", "p", "", ("0",), ("u",)), "no buffer is called 'z'"),
        (Pack("y", "p", "", ("0",), ("u",)), "nothing in the program reads 'y'"),
        (Pack("h", "p", "i", ("0",), ("u",)), "nothing in the body of 'i' reads 'h'"),
        (Pack("h", "p", "z", ("0",), ("u",)), "no loop is called 'z'"),
        (Pack("x", "p", "", ("1",), ("u",)), "dimension 0 must stand in the layout once as '0'"),
        (Pack("x", "p", "", ("0", "1"), ("u", "v")), "the buffer has 1 dimensions"),
        (Pack("x", "p", "", ("0", "0"), ("u", "v")), "dimension 0 must stand in the layout once"),
        (Pack("x", "p", "", ("0//2",), ("u",)), "dimension 0 must stand in the layout once"),
        (Pack("x", "p", "", ("0//2", "0%3"), ("u", "v")), "once as '0//factor' and once as '0%fac"),
        (Pack("x", "p", "", ("0//0", "0%0"), ("u", "v")), "dimension 0 must stand in the layout"),
        (Pack("x", "p", "", ("0*2",), ("u",)), "expected 'd', 'd//factor' or 'd%factor'; found"),
        (Pack("x", "p", "", ("0",), ("u", "v")), "loops: expected 1, found 2"),
        (Pack("x", "h", "", ("0",), ("u",)), "the name 'h' is taken"),
        (Pack("x", "p", "", ("0",), ("p",)), "the name 'p' is taken"),
    ],
)
def test_refusals(step, message):
    with pytest.raises(ScheduleError) as caught:
        apply(parse(CHAIN), (step,))
    assert message in caught.value.message


def test_a_buffer_written_where_its_copy_would_be_read():
    text = """
def f(x: f32[6], y: f32[6]):
    for i in range(6):
        y[i] = x[i]
    for j in range(5):
        y[j + 1] = y[j] + 1.0
"""
    with pytest.raises(ScheduleError, match="is written where its copy would be read"):
        apply(parse(text), (Pack("y", "p", "", ("0",), ("u",)),))


def test_vectorized_loop_holds_no_copy():
    with pytest.raises(ScheduleError, match="pack before vectorizing"):
        apply(parse(CHAIN), (Vectorize("j"), Pack("h", "p", "j", ("0",), ("u",))))


def test_too_large_a_copy():
    layout = ("0//90000", "1//90000", "0%90000", "1%90000")
    with pytest.raises(ScheduleError, match="the copy needs 32400000000 bytes; at most 1073741824"):
        apply(matmul(2, 2, 2), (Pack("b", "p", "", layout, ("u", "v", "w", "z")),))
