"""cache_write."""

import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.programs import matmul
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.ir.nodes import Scope
from tuner.ir.show import show_body
from tuner.schedule.apply import apply
from tuner.schedule.steps import (
    CacheWrite,
    DecomposeReduction,
    Pack,
    Reorder,
    Split,
    Tile,
    Vectorize,
)

TILE = Tile(("i", "j"), (4, 3), ("i0", "j0"), ("i1", "j1"))


def _cache(loop: str, order: tuple[int, ...] = (), loads: tuple[str, ...] = ()) -> CacheWrite:
    return CacheWrite("c", loop, "acc", order, loads, ("s0", "s1"))


@pytest.mark.parametrize("size", [(8, 6, 5), (7, 5, 3), (1, 1, 1), (3, 2, 1)])
@pytest.mark.parametrize("loop", ["i0", "j0", "i1", "j1"])
@pytest.mark.parametrize("order", [(), (1, 0)])
def test_tile_in_a_cache(size, loop, order):
    program = assert_same(matmul(*size), (TILE, _cache(loop, order)))
    assert program.buffer("acc").scope == Scope.LOCAL


def test_body_works_on_the_cache_and_the_tile_is_stored_after_it():
    program = assert_same(matmul(8, 6, 5), (TILE, _cache("j0", (1, 0))))
    assert program.buffer("acc").shape == (3, 4)
    assert show_body(program.body) == (
        "for i0 in range(2):\n"
        "    for j0 in range(2):\n"
        "        for i1 in range(4):\n"
        "            for j1 in range(3):\n"
        "                acc[j1, i1] = 0.0\n"
        "                for k in range(5):\n"
        "                    acc[j1, i1] += a[i0 * 4 + i1, k] * b[k, j0 * 3 + j1]\n"
        "        for s0 in range(4):\n"
        "            for s1 in range(3):\n"
        "                c[i0 * 4 + s0, j0 * 3 + s1] = acc[s1, s0]"
    )


def test_tail_guard_stays_where_an_input_would_be_left():
    text = show_body(assert_same(matmul(7, 6, 5), (TILE, _cache("j0"))).body)
    assert "if i0 * 4 + i1 < 7:" in text
    assert "if i0 * 4 + s0 < 7:" in text


def test_tail_guard_goes_where_inputs_are_padded():
    pack = Pack("a", "ap", "", ("0//4", "1", "0%4"), ("p0", "p1", "p2"))
    text = show_body(assert_same(matmul(7, 6, 5), (pack, TILE, _cache("j0"))).body)
    assert "if i0 * 4 + i1" not in text
    assert "if i0 * 4 + s0 < 7:" in text


def test_partial_sums_are_loaded_first():
    steps = (
        DecomposeReduction("c", "i", ("z0", "z1")),
        Split("k", 2, "k0", "k1"),
        TILE,
        Reorder(("k0", "i0", "j0", "i1", "j1")),
        _cache("j0", (), ("t0", "t1")),
    )
    for size in ((8, 6, 4), (7, 5, 3), (1, 1, 1)):
        program = assert_same(matmul(*size), steps)
    text = show_body(apply(matmul(8, 6, 4), steps).body)
    assert "acc[t0, t1] = c[i0 * 4 + t0, j0 * 3 + t1]" in text
    assert program.buffer("acc").shape == (4, 3)


STENCIL = """
def f(x: f32[12], y: f32[12]):
    for p in range(12):
        y[p] = x[p]
    for i in range(4):
        for j in range(2):
            {statement}
"""


@pytest.mark.parametrize(
    ("statement", "extent"),
    [
        ("y[2 * i + j] = y[2 * i + j + 2] + 1.0", 4),
        ("y[2 * i + 3 * j] = x[i]", 4),
        ("y[i + j] += x[j]", 2),
        ("y[i] = y[i] * 2.0", 1),
        ("y[j + 3] = y[j] + x[i]", 5),
        ("y[3 - i + 4 * j] = 2.0", 5),
    ],
)
def test_boxes(statement, extent):
    cache = CacheWrite("y", "i", "acc", (), ("t",), ("s",))
    program = assert_same(parse(STENCIL.format(statement=statement)), (cache,))
    assert program.buffer("acc").shape == (extent,)
    assert "acc[t] = y[" in show_body(program.body)


def test_start_value_that_skips_elements_does_not_cover():
    text = """
def f(x: f32[8], y: f32[8]):
    for p in range(8):
        y[p] = x[p]
    for i in range(1):
        for j in range(4):
            y[2 * j] = 0.0
"""
    cache = CacheWrite("y", "i", "acc", (), ("t",), ("s",))
    assert "acc[t] = y[t]" in show_body(assert_same(parse(text), (cache,)).body)


def test_guarded_start_value_does_not_cover():
    text = """
def f(x: f32[8], y: f32[8]):
    for p in range(8):
        y[p] = x[p]
    for i in range(2):
        for j in range(4):
            if j + i < 3:
                y[4 * i + j] = 0.0
"""
    cache = CacheWrite("y", "i", "acc", (), ("t",), ("s",))
    assert "acc[t] = y[i * 4 + t]" in show_body(assert_same(parse(text), (cache,)).body)


def test_cache_of_a_cache():
    inner = CacheWrite("acc", "i1", "reg", (), (), ("r0", "r1"))
    assert_same(matmul(8, 6, 3), (TILE, _cache("j0"), inner))


def test_vector_loops_stay_legal_in_the_cache():
    steps = (
        TILE,
        DecomposeReduction("c", "i1", ("z0", "z1")),
        Reorder(("k", "i1", "j1")),
        Vectorize("j1"),
        _cache("j0"),
    )
    assert_same(matmul(7, 5, 3), steps)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (CacheWrite("z", "i", "acc", (), (), ()), "no buffer is called 'z'; there are: a, b, c"),
        (CacheWrite("c", "z", "acc", (), (), ("s", "t")), "no loop is called 'z'"),
        (CacheWrite("a", "i", "acc", (), (), ("s", "t")), "the body of 'i' never writes 'a'"),
        (CacheWrite("c", "i", "acc", (), (), ("s",)), "store loops: expected 2, found 1"),
        (CacheWrite("c", "i", "acc", (0,), (), ("s", "t")), "order must be () or a permutation"),
        (CacheWrite("c", "i", "acc", (0, 0), (), ("s", "t")), "order must be () or a permutation"),
        (CacheWrite("c", "i", "a", (), (), ("s", "t")), "the name 'a' is taken"),
        (CacheWrite("c", "i", "acc", (), (), ("s", "s")), "the name 's' is taken"),
        (
            CacheWrite("c", "k", "acc", (), (), ("s", "t")),
            "load loops (the tile is not",
        ),
    ],
)
def test_refusals(step, message):
    with pytest.raises(ScheduleError) as caught:
        apply(matmul(4, 4, 4), (step,))
    assert message in caught.value.message


def test_too_large_for_a_local_buffer():
    with pytest.raises(ScheduleError, match="needs 1048576 bytes; at most 65536 may live in reg"):
        apply(matmul(4, 262144, 1), (CacheWrite("c", "i", "acc", (), (), ("s", "t")),))


def test_accesses_that_move_apart():
    text = STENCIL.format(statement="y[i + j] = y[2 * i + j]")
    with pytest.raises(ScheduleError, match="move apart with the loops around"):
        apply(parse(text), (CacheWrite("y", "i", "acc", (), ("t",), ("s",)),))


def test_vectorized_loop_cannot_hold_a_cache():
    with pytest.raises(ScheduleError, match="cache before vectorizing"):
        apply(
            matmul(4, 4, 4),
            (
                DecomposeReduction("c", "i", ("z0", "z1")),
                Vectorize("z1"),
                CacheWrite("c", "z1", "acc", (), (), ("s", "t")),
            ),
        )


def test_nothing_to_load():
    text = """
def f(x: f32[8], y: f32[8]):
    for i in range(2):
        for j in range(3):
            y[4 * i + j] = x[j] if i + j < 3 else 1.0
        y[4 * i + 3] = 0.0
"""
    with pytest.raises(ScheduleError, match="nothing is stored there before that could be loaded"):
        apply(parse(text), (CacheWrite("y", "i", "acc", (), ("t",), ("s",)),))
