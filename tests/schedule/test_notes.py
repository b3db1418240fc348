"""annotate, prefetch."""

import numpy as np
import pytest

from tests.codegen.native import call, inputs_for, load
from tests.schedule.equivalence import assert_same
from tests.schedule.programs import matmul, scale
from tuner.codegen.c import translate
from tuner.errors import ScheduleError, SyntaxRefused
from tuner.frontends.text import parse
from tuner.ir.canonical import canonicalize
from tuner.ir.interp import run
from tuner.ir.show import show, show_body
from tuner.lower.pipeline import lower
from tuner.schedule.apply import apply
from tuner.schedule.loop_steps import Annotate, Partition, Prefetch
from tuner.schedule.steps import CacheWrite, Split, Unroll
from tuner.target import target

SSE2 = target("cpu-sse2-1t")


def test_a_remark_is_kept_printed_and_read_again():
    steps = (Annotate("i", "rows of c"), Annotate("i", "few"), Unroll("k"), Annotate("k", "all"))
    noted = assert_same(matmul(3, 4, 5), steps)
    assert "for i in range(3, notes=('rows of c', 'few')):" in show_body(noted.body)
    assert "for k in unrolled(5, notes=('all',)):" in show_body(noted.body)
    assert parse(show(noted)) == noted
    assert (
        "/* rows of c */\n    /* few */\n    for (long i" in translate(lower(noted, SSE2), "f").text
    )


def test_notes_are_no_part_of_a_workload():
    program = matmul(3, 4, 5)
    noted = apply(program, (Annotate("i", "rows of c"), Prefetch("a", "k", 2)))
    assert canonicalize(noted) == canonicalize(program)


@pytest.mark.parametrize("note", ["", "a\nb", "*/", "'", "x" * 65, "prefetch a 3"])
def test_what_is_no_remark(note):
    with pytest.raises(ScheduleError, match="cannot be a note: expected 1 to 64 letters"):
        apply(scale(4), (Annotate("i", note),))


def test_notes_differ_and_are_few():
    with pytest.raises(ScheduleError, match="'i' has the notes 'a'; expected another one"):
        apply(scale(4), (Annotate("i", "a"), Annotate("i", "a")))
    with pytest.raises(ScheduleError, match="and at most 8"):
        apply(scale(4), tuple(Annotate("i", f"n{n}") for n in range(9)))


@pytest.mark.parametrize(
    "header",
    ["range(4, notes='a')", "range(4, notes=())", "range(4, notes=('*/',))", "range(4, step=(1,))",
     "grid(4, notes=('a',))", "range(4, notes=(1,))"],
)  # fmt: skip
def test_headers_with_other_notes_are_refused(header):
    text = f"def f(x: f32[4], y: f32[4]):\n    for i in {header}:\n        y[i] = x[i]\n"
    with pytest.raises(SyntaxRefused, match="only notes may stand, as in notes="):
        parse(text)


def test_prefetch_looks_ahead_of_each_read():
    program = matmul(6, 8, 16)
    staged = (Split("j", 4, "jo", "ji"), CacheWrite("c", "jo", "acc", (), (), ("s0", "s1")))
    steps = (*staged, Prefetch("b", "k", 8), Prefetch("a", "i", 2))
    noted = assert_same(program, steps)
    code = translate(lower(noted, SSE2), "tw_f")
    assert "__builtin_prefetch(&b[k * 8 + jo * 4 + ji + 64]);" in code.text
    assert "__builtin_prefetch(&a[i * 16 + 32]);" in code.text
    inputs = inputs_for(program)
    found = call(load(code, SSE2.flags), "tw_f", program, inputs)
    np.testing.assert_allclose(found["c"], run(program, inputs)["c"], rtol=1e-5, atol=1e-5)


def test_both_parts_of_a_loop_keep_their_notes():
    steps = (Prefetch("x", "i", 4), Partition("i", 6, ("t",)))
    assert show_body(assert_same(scale(8), steps).body).count("'prefetch x 4'") == 2


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((Prefetch("c", "i", 4),), "no read of 'c' moves with 'i'"),
        ((Prefetch("a", "j", 4),), "no read of 'a' moves with 'j'"),
        ((Prefetch("a", "i", 0),), "ahead must be between 1 and 1024; found 0"),
        ((Prefetch("a", "i", 1025),), "ahead must be between 1 and 1024; found 1025"),
        ((Prefetch("q", "i", 4),), "no buffer is called 'q'"),
        ((Unroll("k"), Prefetch("a", "k", 4)), "loop 'k' is already unrolled"),
        ((Prefetch("a", "k", 4), Prefetch("a", "k", 4)), "'k' has the notes 'prefetch a 4'"),
        (
            (CacheWrite("c", "i", "acc", (), (), ("s0", "s1")), Prefetch("acc", "s1", 1)),
            "'acc' is local",
        ),
    ],
)
def test_what_is_not_fetched_early(steps, message):
    with pytest.raises(ScheduleError) as caught:
        apply(matmul(4, 4, 4), steps)
    assert message in caught.value.message
