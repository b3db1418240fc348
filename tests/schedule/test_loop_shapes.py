"""fuse, partition, add_unit_loop."""

import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.programs import conv2d, matmul, scale
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.ir.show import show_body
from tuner.schedule.apply import apply
from tuner.schedule.loop_steps import AddUnitLoop, Fuse, Partition
from tuner.schedule.steps import (
    DecomposeReduction,
    Reorder,
    Split,
    Unroll,
    Vectorize,
)


def test_fuse_takes_the_loops_apart_again_in_subscripts():
    fused = assert_same(matmul(4, 3, 2), (Fuse("i", "j", "f"),))
    assert show_body(fused.body) == (
        "for f in range(12):\n"
        "    c[f // 3, f % 3] = 0.0\n"
        "    for k in range(2):\n"
        "        c[f // 3, f % 3] += a[f // 3, k] * b[k, f % 3]"
    )


@pytest.mark.parametrize("sizes", [(1, 5), (5, 1), (1, 1), (2, 7)])
def test_fuse_of_unit_loops(sizes):
    fused = assert_same(matmul(*sizes, 3), (Fuse("i", "j", "f"),))
    assert ("//" in show_body(fused.body)) == (1 not in sizes)


def test_fuse_undoes_a_split():
    steps = (Split("i", 4, "a", "b"), Fuse("a", "b", "f"))
    assert "if f < 10:" in show_body(assert_same(scale(10), steps).body)
    assert "//" not in show_body(apply(scale(12), steps).body)


def test_fuse_of_many_then_others():
    steps = (
        Fuse("i", "j", "f"),
        Split("f", 5, "fo", "fi"),
        DecomposeReduction("c", "fo", ("z0", "z1")),
        Reorder(("fo", "k", "fi")),
        Vectorize("fi"),
    )
    assert_same(matmul(4, 7, 3), steps)
    assert_same(
        conv2d(2, 5, 3, 3, 1), (Fuse("n", "f", "g"), Fuse("i", "j", "h"), Fuse("g", "h", "e"))
    )


def test_what_cannot_be_fused():
    with pytest.raises(ScheduleError, match="'k' must stand alone directly inside 'j'; the chain"):
        apply(matmul(4, 4, 4), (Fuse("j", "k", "f"),))
    with pytest.raises(ScheduleError, match="'i' must stand alone directly inside 'j'"):
        apply(matmul(4, 4, 4), (Fuse("j", "i", "f"),))
    with pytest.raises(ScheduleError, match="'i' must stand alone directly inside 'i'"):
        apply(matmul(4, 4, 4), (Fuse("i", "i", "f"),))
    with pytest.raises(ScheduleError, match="loop 'i' is already unrolled"):
        apply(matmul(4, 4, 4), (Unroll("i"), Fuse("i", "j", "f")))
    with pytest.raises(ScheduleError, match="the name 'k' is taken"):
        apply(matmul(4, 4, 4), (Fuse("i", "j", "k"),))
    steps = (Split("i", 1 << 20, "p", "q"), Split("p", 1 << 20, "r", "s"))
    with pytest.raises(ScheduleError, match="have 1099511627776 iterations, more than 2147483647"):
        apply(scale(3), (*steps, Fuse("r", "s", "t"), Fuse("t", "q", "f")))


_GUARDED = """
def f(x: f32[10], y: f32[10], z: f32[10]):
    for p in range(10):
        y[p] = 0.0
    for i in range(10):
        if i < 8:
            y[i] = x[i]
        z[i] = x[i + 2] if i < 8 else 0.0
"""


def test_partition_settles_guards():
    cut = assert_same(parse(_GUARDED), (Partition("i", 8, ("t",)),))
    assert show_body(cut.body[1:]) == (
        "for i in range(8):\n"
        "    y[i] = x[i]\n"
        "    z[i] = x[i + 2]\n"
        "for t in range(2):\n"
        "    z[t + 8] = 0.0"
    )


@pytest.mark.parametrize("at", [1, 2, 6])
def test_partition_anywhere(at):
    assert_same(matmul(7, 3, 2), (Partition("i", at, ("t", "u", "v")),))
    assert_same(matmul(7, 3, 7), (Partition("k", at, ("t",)),))


def test_partition_of_a_split_leaves_a_part_without_guard():
    steps = (Split("i", 4, "a", "b"), Partition("a", 2, ("t", "u")), Vectorize("b"), Vectorize("u"))
    shown = show_body(assert_same(scale(10), steps).body)
    assert shown.index("if") > shown.index("for t in")


def test_a_part_that_does_nothing_is_left_out():
    program = parse(
        _GUARDED.replace("        z[i] = x[i + 2] if i < 8 else 0.0\n", "").replace(
            ", z: f32[10]", ""
        )
    )
    assert "for t in" not in show_body(assert_same(program, (Partition("i", 8, ("t",)),)).body)


def test_what_cannot_be_partitioned():
    for at in (0, 10, -1):
        with pytest.raises(ScheduleError, match=f"at must be between 1 and 9, .* found {at}"):
            apply(parse(_GUARDED), (Partition("i", at, ("t",)),))
    never = parse("""
def f(y: f32[10]):
    for p in range(10):
        y[p] = 0.0
    for i in range(10):
        if i > 9:
            y[i] = 1.0
""")
    with pytest.raises(ScheduleError, match="no guard below 'i' is ever true"):
        apply(never, (Partition("i", 4, ("t",)),))
    with pytest.raises(ScheduleError, match="names, for i, j, k: expected 3, found 1"):
        apply(matmul(4, 4, 4), (Partition("i", 2, ("t",)),))
    with pytest.raises(ScheduleError, match="the name 'j' is taken"):
        apply(matmul(4, 4, 4), (Partition("j", 2, ("j", "t")),))
    with pytest.raises(ScheduleError, match="loop 'i' is already vectorized"):
        apply(scale(8), (Vectorize("i"), Partition("i", 4, ("t",))))


def test_a_unit_loop_goes_anywhere():
    steps = (AddUnitLoop("k", "u"), AddUnitLoop("i", "v"), Fuse("v", "i", "w"))
    shown = show_body(assert_same(matmul(3, 4, 5), steps).body)
    assert "for u in range(1):" in shown
    assert_same(scale(8), (Unroll("i"), AddUnitLoop("i", "u")))
    assert_same(scale(8), (Vectorize("i"), AddUnitLoop("i", "u")))


def test_where_a_unit_loop_cannot_be():
    with pytest.raises(ScheduleError, match="the name 'i' is taken"):
        apply(scale(8), (AddUnitLoop("i", "i"),))
    with pytest.raises(ScheduleError, match="no loop is called 'q'"):
        apply(scale(8), (AddUnitLoop("q", "u"),))
