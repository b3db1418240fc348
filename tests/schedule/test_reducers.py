"""Start values of reductions, whatever they are, and what combines values in one order only."""

import re

import numpy as np
import pytest

from tests.codegen.native import run as run_compiled
from tests.codegen.native import targets_here
from tests.schedule.equivalence import assert_same, in_lockstep
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.ir.interp import run
from tuner.ir.show import show
from tuner.schedule.apply import apply
from tuner.schedule.loop_steps import Bind, Parallel
from tuner.schedule.steps import (
    CacheWrite,
    DecomposeReduction,
    Pad,
    Reorder,
    ReverseComputeAt,
    Rfactor,
    Split,
    Tile,
    Vectorize,
)

ROWS = """
def rows(x: {dtype}[4, 7], y: {dtype}[4]):
    for i in range(4):
        y[i] = {start}
        for k in range(7):
            {update}
"""
#: Reducer, and a start value that is not its identity and may win or lose against the data.
STARTED = [("max", "0"), ("min", "5"), ("min", "-2"), ("+", "3"), ("*", "2"), ("max", "-100")]
SCHEDULES = {
    "partial results": (Split("k", 4, "ko", "ki"), Rfactor("ki", "p", "s", "t")),
    "lanes of partial results": (
        Split("k", 4, "ko", "ki"), Rfactor("ki", "p", "s", "t"), Vectorize("ki"), Vectorize("s"),
        Vectorize("t"),
    ),
    "lanes": (Vectorize("k"),),
    "padded lanes": (Pad("k", 8), Split("k", 4, "ko", "ki"), Vectorize("ki")),
    "start values first": (DecomposeReduction("y", "i", ("z",)), Reorder(("k", "i"))),
    "a tile of start values": (
        DecomposeReduction("y", "i", ("z",)), Split("i", 3, "io", "ii"),
        Split("k", 2, "ko", "ki"), Reorder(("ko", "io", "ki", "ii")),
        CacheWrite("y", "io", "acc", (), ("l",), ("w",)),
    ),
    "rows in parallel": (Parallel("i"), Split("k", 2, "ko", "ki"), Rfactor("ko", "p", "s", "t")),
}  # fmt: skip


def _rows(dtype, op, start):
    start = f"{start}.0" if dtype.startswith("f") else start
    update = f"y[i] {op}= x[i, k]" if op in "+*" else f"y[i] = {op}(y[i], x[i, k])"
    return parse(ROWS.format(dtype=dtype, start=start, update=update))


def _expected(op, start, x):
    reduce = {"+": np.add, "*": np.multiply, "min": np.minimum, "max": np.maximum}[op].reduce
    first = np.full((len(x), 1), start, x.dtype)
    return reduce(np.concatenate([first, x], 1), axis=1, dtype=x.dtype)


def _data(dtype):
    """Rows of small negative, mixed and zero numbers; for floats also with infinities and NaN."""
    x = np.random.default_rng(0).integers(-3, 4, (4, 7))
    x[0] = -np.abs(x[0]) - 1
    data = x.astype(parse(f"def f(x: {dtype}[1]):\n    x[0] = 1\n").params[0].dtype.numpy)
    if dtype.startswith("f"):
        data[1, 2], data[2, 5], data[3, 0] = np.nan, np.inf, -np.inf
    return data


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES.keys())
@pytest.mark.parametrize(("op", "start"), STARTED)
@pytest.mark.parametrize("dtype", ["f32", "i8"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_start_value_counts_once(dtype, op, start, schedule):
    x, program = _data(dtype), _rows(dtype, op, start)
    want = _expected(op, int(start), x)
    np.testing.assert_array_equal(run(program, {"x": x})["y"], want)
    scheduled = apply(program, schedule)
    np.testing.assert_array_equal(run(in_lockstep(scheduled), {"x": x})["y"], want)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize(("op", "start"), STARTED)
@pytest.mark.parametrize("name", ["lanes of partial results", "padded lanes"])
def test_a_start_value_counts_once_in_c(op, start, name):
    x, program = _data("f32"), _rows("f32", op, start)
    text = show(apply(program, SCHEDULES[name]))
    found = run_compiled(text, {"x": x}, targets_here()[0])["y"]
    np.testing.assert_array_equal(found, _expected(op, int(start), x))


def test_a_start_value_in_each_iteration_stays_there():
    program = parse("""
def f(x: f32[4, 7], y: f32[1]):
    for i in range(4):
        y[0] = 0.0
        for k in range(7):
            y[0] = max(y[0], x[i, k])
""")
    with pytest.raises(ScheduleError) as caught:
        apply(program, (DecomposeReduction("y", "i", ("z",)),))
    assert (
        "y[0] (written) and y[0] (written) may meet in different iterations of i: the first "
        in (caught.value.message)
    )
    assert "y[0] is accumulated at i=0, k=0 and then written at i=1" in caught.value.message


def test_a_start_value_is_not_assigned_once_for_each_tile():
    program = parse("""
def f(x: f32[8], h: f32[8], y: f32[1]):
    for i0 in range(2):
        for i1 in range(4):
            h[i0 * 4 + i1] = x[i0 * 4 + i1]
    for u in range(1):
        y[u] = 3.0
        for j in range(8):
            y[u] += h[j]
""")
    message = r"y\[u\] stands outside of j: it would run once for each tile"
    with pytest.raises(ScheduleError, match=message):
        apply(program, (ReverseComputeAt("y", "i0"),))


def _recurrence(statement, dtype="f32", start="1.0"):
    start = start if dtype.startswith("f") else "1"
    return parse(f"""
def f(x: {dtype}[6, 4], n: i32[6, 4], s: {dtype}[2]):
    s[0] = {start}
    s[1] = {start}
    for i in range(6):
        for j in range(4):
            {statement}
""")


ORDERED = [
    ("f32", "s[0] = s[0] - x[i, j]", "- is not associative and commutative"),
    ("f32", "s[0] = x[i, j] - s[0]", "- is not associative and commutative"),
    ("f32", "s[0] = s[0] / x[i, j]", "/ is not associative and commutative"),
    ("f32", "s[0] = pow(s[0], x[i, j])", "pow is not associative and commutative"),
    ("i32", "s[0] = s[0] // 3", "// is not associative and commutative"),
    ("f32", "s[0] = x[i, j] + s[0] * s[0]", "x[i, j] + s[0] * s[0] is no operator that is assoc"),
    ("f32", "s[0] = s[0] * s[0]", "s[0] * s[0] is no operator that is associative"),
    ("f32", "s[0] = s[0] * x[i, j] + 1.0", "s[0] * x[i, j] + 1.0 is no operator that is assoc"),
    ("f32", "s[0] = exp(s[0])", "exp(s[0]) is no operator that is associative and commutative"),
    ("f32", "s[0] = -s[0]", "-s[0] is no operator that is associative and commutative"),
    ("i32", "s[0] = i32(f32(s[0]) + 0.5)", "i32(f32(s[0]) + 0.5) is no operator that is assoc"),
    ("f32", "s[0] = f32(i32(s[0]) + n[i, j])", "f32(i32(s[0]) + n[i, j]) is no operator that is"),
    ("f32", "s[0] = s[0] + x[i, j]", "write it as a reduction by +, s[0] += x[i, j], to leave it"),
    ("f32", "s[0] = x[i, j] * s[0]", "write it as a reduction by *, s[0] *= x[i, j], to leave it"),
    ("i8", "s[0] = s[0] + x[i, j]", "write it as a reduction by +, s[0] += x[i, j], to leave it"),
]


@pytest.mark.parametrize(("dtype", "statement", "why"), ORDERED)
def test_no_partial_results_of_what_has_one_order(dtype, statement, why):
    with pytest.raises(ScheduleError) as caught:
        apply(_recurrence(statement, dtype), (Rfactor("j", "p", "t", "u"),))
    assert why in caught.value.message
    assert caught.value.message.startswith(f"{statement}: ")
    assert "s[0] is written at j=0 and then read at j=1" in caught.value.message


MOVES = {
    "reorder": (Reorder(("j", "i")),),
    "tile": (Tile(("i", "j"), (2, 2), ("io", "jo"), ("ii", "ji")),),
    "vectorize": (Vectorize("j"),),
    "parallel": (Parallel("i"),),
    "threads": (Bind("j", "threadIdx.x"),),
}


@pytest.mark.parametrize(("dtype", "statement", "why"), ORDERED[:6] + ORDERED[-1:])
@pytest.mark.parametrize("steps", MOVES.values(), ids=MOVES.keys())
def test_the_order_of_what_has_one_order_stays(steps, dtype, statement, why):
    with pytest.raises(ScheduleError) as caught:
        apply(_recurrence(statement, dtype), steps)
    assert re.search(
        r"s\[0\] is (read|written) at .* and then (written|read) at ", caught.value.message
    )


def test_nothing_neutral_is_added_to_what_has_one_order():
    with pytest.raises(ScheduleError, match="'s' is assigned in 'j': expected accumulations only"):
        apply(_recurrence("s[0] = s[0] - x[i, j]"), (Pad("j", 8),))


@pytest.mark.parametrize(
    "steps",
    [
        (Split("j", 3, "jo", "ji"), CacheWrite("s", "i", "c", (), ("l",), ("w",))),
        (Split("i", 4, "io", "ii"), CacheWrite("s", "ii", "c", (), ("l",), ("w",))),
    ],
)
def test_what_keeps_the_order_is_taken(steps):
    for dtype, statement, _ in ORDERED:
        assert_same(_recurrence(statement, dtype), steps)


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("s[0] += s[0] * x[i, j]", "s[0] is accumulated at i=0, j=0 and then read at i=1, j=0"),
        ("s[0] *= s[0]", "s[0] is accumulated at i=0, j=0 and then read at i=1, j=0"),
        (
            "s[0] += x[i, j] * s[i // 5]",
            "s[0] is accumulated at i=0, j=0 and then read at i=1, j=0",
        ),
        ("s[0] = max(s[0], s[0] * x[i, j])", "s[0] is accumulated at i=0, j=0 and then read"),
    ],
)
def test_an_accumulation_that_reads_what_it_has_accumulated(statement, shown):
    with pytest.raises(ScheduleError) as caught:
        apply(_recurrence(statement), (Rfactor("j", "p", "t", "u"),))
    assert f"read by its own accumulation, {statement}, so that the operator is not" in (
        caught.value.message
    )
    assert shown in caught.value.message


@pytest.mark.parametrize("statement", ["s[0] += s[1]", "s[0] *= s[1] * x[i, j]"])
def test_an_accumulation_that_reads_another_element(statement):
    assert_same(_recurrence(statement), (Rfactor("j", "p", "t", "u"), Vectorize("u")))


@pytest.mark.parametrize("dtype", ["i8", "u8", "i32"])
@pytest.mark.parametrize("op", ["+", "*"])
def test_integers_that_wrap_combine_in_any_order(dtype, op):
    program = _recurrence(f"s[0] {op}= x[i, j]", dtype)
    x = np.random.default_rng(1).integers(1, 120, (6, 4)).astype(program.params[0].dtype.numpy)
    data = {"x": x, "n": np.zeros((6, 4), np.int32)}
    want = run(program, data)["s"]
    scheduled = apply(program, (Rfactor("i", "p", "t", "u"), Vectorize("u")))
    np.testing.assert_array_equal(run(in_lockstep(scheduled), data)["s"], want)


@pytest.mark.parametrize("statement", ["s[0] *= x[i, j]", "s[0] += f32(n[i, j]) * x[i, j]"])
def test_floats_by_the_meaning_of_a_declared_reduction(statement):
    assert_same(_recurrence(statement), (Rfactor("i", "p", "t", "u"),))
