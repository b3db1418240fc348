"""cache_read."""

import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.programs import conv2d, matmul
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.ir.nodes import Scope
from tuner.ir.show import show_body
from tuner.schedule.apply import apply
from tuner.schedule.steps import CacheRead, DecomposeReduction, Split, Tile, Vectorize

TILE = Tile(("i", "j"), (4, 3), ("i0", "j0"), ("i1", "j1"))


def _cache(buffer: str, loop: str, scope: str = "local", order: tuple[int, ...] = ()) -> CacheRead:
    return CacheRead(buffer, loop, "s", scope, order, ("t0", "t1"))


@pytest.mark.parametrize("size", [(8, 6, 5), (7, 5, 3), (1, 1, 1), (3, 2, 1)])
@pytest.mark.parametrize("loop", ["i0", "j0", "i1", "j1"])
@pytest.mark.parametrize("scope", ["local", "global"])
def test_tile_of_each_operand(size, loop, scope):
    for buffer, order in (("a", ()), ("b", (1, 0))):
        program = assert_same(matmul(*size), (TILE, _cache(buffer, loop, scope, order)))
        assert program.buffer("s").scope == Scope(scope)


def test_copy_stands_first_and_is_guarded_where_the_tile_reaches_out():
    program = assert_same(matmul(7, 6, 5), (TILE, _cache("a", "j0", "local", (1, 0))))
    assert program.buffer("s").shape == (5, 4)
    assert show_body(program.body).startswith(
        "for i0 in range(2):\n"
        "    for j0 in range(2):\n"
        "        for t0 in range(4):\n"
        "            for t1 in range(5):\n"
        "                if i0 * 4 + t0 < 7:\n"
        "                    s[t1, t0] = a[i0 * 4 + t0, t1]\n"
    )


def test_window_with_padding():
    steps = (Split("j", 3, "j0", "j1"), CacheRead("x", "j0", "xs", "local", (), tuple("uvst")))
    program = assert_same(conv2d(2, 5, 3, 3, 1), steps)
    assert program.buffer("xs").shape == (1, 2, 3, 5)


def test_cache_of_an_intermediate_inside_a_vectorized_consumer():
    text = """
def f(x: i8[7], y: i8[7, 5]):
    h = buffer(i8[7])
    for p in range(7):
        h[p] = x[p] * 100
    for i, j in grid(7, 5):
        y[i, j] = h[i] + x[j]
"""
    assert_same(parse(text), (Vectorize("j"), CacheRead("h", "i", "s", "local", (), ("t",))))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (_cache("z", "i"), "no buffer is called 'z'; there are: a, b, c"),
        (_cache("a", "z"), "no loop is called 'z'"),
        (_cache("a", "i", "shelf"), "a scope is 'local', 'shared' or 'global'; found 'shelf'"),
        (_cache("a", "i", "param"), "a scope is 'local', 'shared' or 'global'; found 'param'"),
        (CacheRead("a", "i", "s", "local", (), ("t",)), "loops: expected 2, found 1"),
        (CacheRead("a", "i", "b", "local", (), ("t", "u")), "the name 'b' is taken"),
        (_cache("a", "i", "local", (0,)), "order must be () or a permutation"),
        (_cache("c", "i"), "nothing in the body of 'i' reads 'c'"),
    ],
)
def test_refusals(step, message):
    with pytest.raises(ScheduleError) as caught:
        apply(matmul(4, 4, 4), (step,))
    assert message in caught.value.message


def test_nothing_reads_it_there():
    steps = (DecomposeReduction("c", "i", ("z0", "z1")), _cache("a", "z0"))
    with pytest.raises(ScheduleError, match="nothing in the body of 'z0' reads 'a'"):
        apply(matmul(4, 4, 4), steps)


def test_too_large_for_a_local_buffer():
    with pytest.raises(ScheduleError, match="needs 1048576 bytes; at most 65536 may live in reg"):
        apply(matmul(2, 262144, 1), (_cache("b", "i"),))


def test_reads_that_move_apart():
    text = """
def f(x: f32[12], y: f32[4]):
    for i in range(4):
        y[i] = x[i] + x[2 * i]
"""
    with pytest.raises(ScheduleError, match="move apart with the loops around"):
        apply(parse(text), (CacheRead("x", "i", "s", "local", (), ("t",)),))


def test_vectorized_loop_cannot_hold_a_cache():
    steps = (Vectorize("i"), CacheRead("x", "i", "s", "local", (), ("t",)))
    text = """
def f(x: f32[5], y: f32[5]):
    for i in range(5):
        y[i] = x[i]
"""
    with pytest.raises(ScheduleError, match="cache before vectorizing"):
        apply(parse(text), steps)


SHIFTED = """
def f(x: f32[9], y: f32[20]):
    for p in range(20):
        y[p] = 1.0
    for i in range(3):
        for j in range(3):
            {statement}
"""
BESIDE = CacheRead("y", "i", "s", "local", (), ("t",))


@pytest.mark.parametrize(
    "statement",
    [
        "y[j] = y[j] + x[j]",
        "y[j] = y[j + 1] * 2.0",
        "y[j + 9] = y[j] + y[j + 1]",
        "y[2 * j] = y[j + 1]",
        "y[j + 1] += y[j + i + 8]",
    ],
)
def test_what_the_body_writes_elsewhere_or_later_goes_to_the_buffer(statement):
    program = assert_same(parse(SHIFTED.format(statement=statement)), (BESIDE,))
    target, reads = statement.split(" ", 1)
    last = show_body(program.body).splitlines()[-1].strip()
    assert last.startswith(target)
    assert last.count("s[") == reads.count("y[")


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("y[j + 1] = y[j]", "y[1] is written at j=0 and then read at j=1"),
        ("y[0] += y[j // 2] * 2.0", "y[0] is accumulated at j=0 and then read at j=1"),
        ("y[2 * j] = y[j]", "y[2] is written at j=1 and then read at j=2"),
    ],
)
def test_what_the_body_has_written_cannot_be_read_from_a_copy(statement, shown):
    with pytest.raises(ScheduleError) as caught:
        apply(parse(SHIFTED.format(statement=statement)), (BESIDE,))
    message = f"is written where its copy would be read; cache it elsewhere; for example, {shown}"
    assert message in caught.value.message
