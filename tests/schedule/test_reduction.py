"""decompose_reduction, rfactor."""

import numpy as np
import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.programs import matmul
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.ir.interp import run
from tuner.ir.show import show_body
from tuner.schedule.apply import apply
from tuner.schedule.steps import DecomposeReduction, Reorder, Rfactor, Split, Unroll, Vectorize


@pytest.mark.parametrize("size", [(4, 6, 5), (7, 5, 3), (1, 1, 1)])
@pytest.mark.parametrize(("loop", "names"), [("i", ("z0", "z1")), ("j", ("z1",))])
def test_start_values_first(size, loop, names):
    assert_same(matmul(*size), (DecomposeReduction("c", loop, names),))


def test_both_nests():
    program = assert_same(
        matmul(5, 6, 3), (Split("i", 2, "i0", "i1"), DecomposeReduction("c", "i1", ("z0", "z1")))
    )
    assert show_body(program.body) == (
        "for i0 in range(3):\n"
        "    for z0 in range(2):\n"
        "        for z1 in range(6):\n"
        "            if i0 * 2 + z0 < 5:\n"
        "                c[i0 * 2 + z0, z1] = 0.0\n"
        "    for i1 in range(2):\n"
        "        for j in range(6):\n"
        "            for k in range(3):\n"
        "                if i0 * 2 + i1 < 5:\n"
        "                    c[i0 * 2 + i1, j] += a[i0 * 2 + i1, k] * b[k, j]"
    )


def test_annotations_are_kept_in_both():
    steps = (
        DecomposeReduction("c", "j", ("z1",)),
        Reorder(("k", "j")),
        Vectorize("j"),
        Unroll("z1"),
    )
    assert "for z1 in unrolled(4):" in show_body(assert_same(matmul(3, 4, 5), steps).body)
    before = (Unroll("j"), DecomposeReduction("c", "j", ("z1",)))
    assert "for z1 in unrolled(4):" in show_body(assert_same(matmul(3, 4, 5), before).body)


BLOCK = """
def f(x: f32[4, 5], y: f32[4], z: f32[4]):
    for i in range(4):
        {first}
        y[i] = 0.0
        for k in range(5):
            {update}
"""


@pytest.mark.parametrize(
    ("first", "update", "message"),
    [
        ("z[i] = 1.0", "y[i] += x[i, k]", None),
        ("z[i] = 1.0", "y[i] += x[i, k] * z[i]", None),
        ("y[i] = 3.0", "y[i] += x[i, k]", None),
        ("z[i] = 1.0", "y[3 - i] = x[i, k]", "may meet in different iterations of i"),
        ("z[i] = 1.0", "y[0] += x[i, k]", None),
        ("z[i] = 1.0", "y[3] += x[i, k]", "accumulated at i=0, k=0 and then written at i=3"),
    ],
)
def test_what_may_be_cut_in_two(first, update, message):
    program = parse(BLOCK.format(first=first, update=update))
    step = DecomposeReduction("y", "i", ("t",))
    if message is None:
        assert_same(program, (step,))
        return
    with pytest.raises(ScheduleError, match=message):
        apply(program, (step,))


def test_start_value_does_not_pass_what_comes_before_it():
    text = """
def f(x: f32[4, 5], y: f32[4], z: f32[4]):
    for p in range(4):
        y[p] = 2.0
    for i in range(4):
        z[i] = y[i]
        y[i] = 0.0
        for k in range(5):
            y[i] += x[i, k]
"""
    with pytest.raises(ScheduleError, match="cannot move ahead of"):
        apply(parse(text), (DecomposeReduction("y", "i", ("t",)),))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (DecomposeReduction("c", "q", ("t",)), "no loop is called 'q'"),
        (DecomposeReduction("c", "k", ("t",)), "expected an assignment of 'c' at the end of the"),
        (DecomposeReduction("a", "i", ("t", "u")), "expected an assignment of 'a' at the end"),
        (DecomposeReduction("c", "i", ("t",)), "names: expected 2, found 1 in ('t',)"),
        (DecomposeReduction("c", "i", ("t", "k")), "the name 'k' is taken"),
    ],
)
def test_decompose_refusals(step, message):
    with pytest.raises(ScheduleError) as caught:
        apply(matmul(4, 4, 4), (step,))
    assert message in caught.value.message


def test_nothing_to_decompose():
    steps = (DecomposeReduction("c", "i", ("t", "u")), DecomposeReduction("c", "t", ("v", "w")))
    with pytest.raises(ScheduleError, match="'t' contains nothing but this assignment"):
        apply(matmul(4, 4, 4), steps)


PARTS = Rfactor("k1", "p", "t", "u")


@pytest.mark.parametrize("size", [(2, 3, 8), (2, 3, 7), (1, 1, 1)])
def test_partial_sums(size):
    program = assert_same(matmul(*size), (Split("k", 4, "k0", "k1"), PARTS))
    assert program.buffer("p").shape == (4,)


def test_partial_sums_start_and_end_around_the_whole_reduction():
    program = assert_same(matmul(2, 3, 8), (Split("k", 4, "k0", "k1"), PARTS))
    assert show_body(program.body) == (
        "for i in range(2):\n"
        "    for j in range(3):\n"
        "        c[i, j] = 0.0\n"
        "        for t in range(4):\n"
        "            p[t] = 0.0\n"
        "        for k0 in range(2):\n"
        "            for k1 in range(4):\n"
        "                p[k1] += a[i, k0 * 4 + k1] * b[k0 * 4 + k1, j]\n"
        "        for u in range(4):\n"
        "            c[i, j] += p[u]"
    )


def test_partial_sums_of_partial_sums():
    again = (Split("u", 2, "u0", "u1"), Rfactor("u1", "p2", "t2", "u2"))
    lanes = (Vectorize("k1"), Vectorize("t"), Vectorize("u1"), Vectorize("t2"), Vectorize("u2"))
    assert_same(matmul(2, 3, 7), (Split("k", 4, "k0", "k1"), PARTS, *again, *lanes))


@pytest.mark.parametrize("dtype", ["f32", "f64", "i32", "i8", "u8"])
@pytest.mark.parametrize(("op", "start"), [("+", "1"), ("*", "2"), ("min", "5"), ("max", "2")])
def test_every_reducer_in_every_type(dtype, op, start):
    start = f"{start}.0" if dtype.startswith("f") else start
    update = f"y[0] {op}= x[k]" if op in "+*" else f"y[0] = {op}(y[0], x[k])"
    program = parse(
        f"""
def f(x: {dtype}[7], y: {dtype}[1]):
    y[0] = {start}
    for k in range(7):
        {update}
"""
    )
    scheduled = apply(program, (Split("k", 4, "k0", "k1"), PARTS))
    values = np.array([3, 4, 4, 3, 5, 2, 3], program.params[0].dtype.numpy)
    want, got = run(program, {"x": values}), run(scheduled, {"x": values})
    np.testing.assert_array_equal(got["y"], want["y"])


SUM = """
def f(x: f32[4, 6], y: f32[9]):
    for p in range(9):
        y[p] = 0.0
    for i in range(4):
        for k in range(6):
            {statement}
"""


@pytest.mark.parametrize(
    ("statement", "loop", "message"),
    [
        ("y[i] += x[i, k]", "i", "runs over i, at or inside 'i': reorder these loops outside"),
        ("y[0] = x[i, k]", "k", "expected 'k' to carry one accumulating store and nothing else"),
        ("y[0] += x[i, k]\n            y[1] += 1.0", "k", "expected 'k' to carry one accumulating"),
        ("y[0] += y[0]", "k", "y[0] is written and read by its own accumulation, y[0] += y[0]"),
        ("if i * 4 + k < 9:\n                y[i * 4] += x[i, k]", "k", "is in bounds only under"),
    ],
)
def test_rfactor_refusals(statement, loop, message):
    with pytest.raises(ScheduleError) as caught:
        apply(parse(SUM.format(statement=statement)), (Rfactor(loop, "p_", "t", "u"),))
    assert message in caught.value.message


def test_guards_around_the_reduction_are_kept_at_its_end():
    statement = "if 2 * i < 3:\n                y[8 * i] += x[i, k]"
    program = assert_same(parse(SUM.format(statement=statement)), (Rfactor("k", "q", "t", "u"),))
    assert show_body(program.body).endswith(
        "    for u in range(6):\n        if 2 * i < 3:\n            y[8 * i] += q[u]"
    )


def test_partial_sums_over_two_loops():
    assert_same(parse(SUM.format(statement="y[3] += x[i, k]")), (Rfactor("i", "q", "t", "u"),))
