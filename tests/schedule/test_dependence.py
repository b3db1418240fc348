"""The exact analysis behind the cheap rule: what only looks carried, what is, and what it shows."""

import numpy as np
import pytest

from tests.schedule.equivalence import assert_same
from tests.schedule.programs import softmax
from tests.schedule.recipes import row_softmax
from tests.space.programs import PROGRAMS
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.schedule import defined, dependence, legality, witness
from tuner.schedule.access import accesses_of
from tuner.schedule.apply import apply
from tuner.schedule.nest import find
from tuner.schedule.steps import DecomposeReduction, Reorder, Split, Vectorize
from tuner.space.build import space_of
from tuner.target import target


def _nest(head: str, *statements: str) -> str:
    lines = "\n        ".join(statements)
    return f"""
def f(x: f32[40, 40], y: f32[40, 40], ids: i64[40]):
    for p, q in grid(40, 40):
        y[p, q] = x[q, p]
    for {head}:
        {lines}
"""


@pytest.mark.parametrize(
    ("text", "step"),
    [
        # both loops carry it, in one direction
        (_nest("i, j in grid(8, 9)", "y[i + 1, j + 1] = y[i, j] + 1.0"), Reorder(("j", "i"))),
        (_nest("i, j in grid(8, 9)", "y[2 * i, j] = y[2 * i + 1, j + 3]"), Reorder(("j", "i"))),
        # elements of different parity, of different tiles, of different halves
        (_nest("i, j in grid(2, 4)", "y[0, 6 * i + 4 * j] = y[0, 6 * j + 4 * i + 1]"),
         Reorder(("j", "i"))),
        (_nest("i, j in grid(8, 8)", "if i < 4:", "    y[i, 7 - j] = y[i + 4, j]"),
         Reorder(("j", "i"))),
        (_nest("i, j in grid(8, 4)", "if i % 2 == 0:", "    y[i, j] = y[i + 1, 3 - j]"),
         Reorder(("j", "i"))),
        (_nest("i, j in grid(8, 4)", "y[i // 2 * 2, j] = y[j // 2 * 2 + 1, i]"),
         Reorder(("j", "i"))),
        # the read is of an element that is written later only
        (_nest("i, j in grid(4, 4)", "y[i, j] = y[i + 1, j + 1] if i < j else 2.0"),
         Reorder(("j", "i"))),
        (_nest("i in range(8)", "y[i, 0] = y[i + 1, 0]"), Vectorize("i")),
        (_nest("i in range(8)", "y[i + 1, 0] = x[i, 0]", "y[i, 1] = y[i, 0]"), Vectorize("i")),
        (_nest("i in range(9)", "if i != 4:", "    y[i, 0] = y[4, 0] + x[i, 1]"), Vectorize("i")),
        (_nest("i in range(8)", "if i < 1 or i >= 7:", "    y[i // 7 * 5, 0] = x[i, 0]"),
         Vectorize("i")),
        (_nest("i in range(8)", "y[i + 1, 0] = x[i, 1]", "for k in range(3):",
               "    y[i, 1] += y[i, 0] * x[k, i]"), DecomposeReduction("y", "i", ("t",))),
    ],
)  # fmt: skip
def test_what_only_looks_carried_is_accepted(text, step):
    assert_same(parse(text), (step,))


@pytest.mark.parametrize(
    ("text", "step", "shown"),
    [
        (_nest("i, j in grid(8, 9)", "y[i + 1, j] = y[i, j + 1] + 1.0"), Reorder(("j", "i")),
         "for example, y[1, 1] is written at i=0, j=1 and then read at i=1, j=0"),
        (_nest("i, j in grid(8, 9)", "y[i, j + 1] = y[i + 1, j] + 1.0"), Reorder(("j", "i")),
         "for example, y[1, 1] is read at i=0, j=1 and then written at i=1, j=0"),
        (_nest("i, j in grid(4, 4)", "y[i + j, 0] = x[i, j]"), Reorder(("j", "i")),
         "for example, y[1, 0] is written at i=0, j=1 and then written at i=1, j=0"),
        (_nest("i in range(8)", "y[i + 1, 0] = y[i, 0]"), Vectorize("i"),
         "for example, y[1, 0] is written at i=0 and then read at i=1"),
        (_nest("i in range(8)", "y[i, 1] = y[i, 0]", "y[i + 1, 0] = x[i, 0]"), Vectorize("i"),
         "for example, y[1, 0] is written at i=0 and then read at i=1"),
        (_nest("i in range(8)", "y[i // 2, 0] += x[i, 0]"), Vectorize("i"),
         "for example, y[0, 0] is accumulated at i=0 and then accumulated at i=1"),
        (_nest("i in range(8)", "y[i, 1] = x[i, 1]", "for k in range(3):",
               "    y[i + 1, 1] += x[k, i]"), DecomposeReduction("y", "i", ("t",)),
         "for example, y[1, 1] is accumulated at i=0, k=0 and then written at i=1"),
        # outer loops stand still, and what they guard counts
        (_nest("o, i in grid(3, 8)", "if o > 1:", "    y[i + o, 0] = y[i, 0]"), Vectorize("i"),
         "for example, y[2, 0] is written at o=2, i=0 and then read at o=2, i=2"),
    ],
)  # fmt: skip
def test_refusals_show_a_dependence(text, step, shown):
    with pytest.raises(ScheduleError) as caught:
        apply(parse(text), (step,))
    assert caught.value.message.endswith(shown)


@pytest.mark.parametrize(
    "statements",
    [
        ("y[i, 0] = y[max(min(ids[i], 39), 0), 0]",),
        ("y[i, 0] = y[i - 9, 0] if x[i, 0] > 1.0 and i >= 9 else y[i + 1, 0] + y[7, 0]",),
    ],
)
def test_values_of_data_may_be_anything(statements):
    with pytest.raises(ScheduleError, match="may meet in different iterations of i"):
        apply(parse(_nest("i in range(30)", *statements)), (Vectorize("i"),))


def test_guards_around_the_loop_count():
    text = _nest("o in range(2)", "if o < 1:", "    for i in range(8):",
                 "        y[3 * o + i, 0] = y[i + 2, 0]")  # fmt: skip
    assert_same(parse(text), (Vectorize("i"),))
    with pytest.raises(ScheduleError, match="written at o=1, i=0 and then read at o=1, i=1"):
        apply(parse(text.replace("if o < 1", "if o < 2")), (Vectorize("i"),))


def test_splits_stay_exact():
    text = _nest("i, j in grid(9, 10)", "y[i + 1, j + 1] = y[i, j] + 1.0")
    steps = (
        Split("i", 4, "i0", "i1"),
        Split("j", 3, "j0", "j1"),
        Reorder(("i0", "j0", "i1", "j1")),
        Reorder(("j0", "i0", "j1", "i1")),
    )
    assert_same(parse(text), steps)


def test_the_analysis_is_bounded(monkeypatch):
    text = _nest("i, j in grid(8, 9)", "y[i + 1, j + 1] = y[i, j] + 1.0")
    monkeypatch.setattr(dependence, "MAX_OPERATIONS", 200)
    with pytest.raises(ScheduleError, match="exact analysis found no answer within 200 operations"):
        apply(parse(text), (Reorder(("j", "i")),))


def test_at_every_limit_there_is_an_answer_or_none(monkeypatch):
    program = parse(_nest("i, j in grid(8, 9)", "y[i + 1, j] = y[i, j + 1] + 1.0"))
    said = set()
    for limit in range(1, 6000, 7):
        monkeypatch.setattr(dependence, "MAX_OPERATIONS", limit)
        with pytest.raises(ScheduleError) as refused:
            apply(program, (Reorder(("j", "i")),))
        said.add("found no answer within" in str(refused.value))
    assert said == {True, False}


@pytest.fixture
def questions(monkeypatch):
    """How often isl is asked, as the length of a list."""
    asked = []

    def counted(question):
        def ask(*args):
            asked.append(args)
            return question(*args)

        return ask

    monkeypatch.setattr(witness, "meeting", counted(dependence.meeting))
    monkeypatch.setattr(defined, "undefined", counted(defined.undefined))
    return asked


@pytest.mark.parametrize("name", PROGRAMS)
def test_schedules_of_spaces_never_ask(name, questions):
    space = space_of(PROGRAMS[name], target("cpu-avx512-1t"))
    drawn = space.sample(np.random.default_rng(3), 16)
    questions.clear()
    for row in range(len(drawn)):
        apply(PROGRAMS[name], space.schedule(drawn, row))
    assert not questions


def test_recipes_never_ask(questions):
    apply(softmax(7, 37), row_softmax(4, 2))
    assert not questions


def _check_parallel(statement: str, loop: str = "i") -> None:
    program = parse(_nest("i, j in grid(8, 9)", statement))
    place = find(program, loop)
    found = accesses_of(place.loop)
    ranges = {**place.ranges(), "j": 9}
    legality.check_parallel(place.loop, found, ranges, place.guards())


@pytest.mark.parametrize(
    "statement",
    [
        "y[i, j] = x[i, j]",
        "y[i, j] += y[i, j + 1]",
        "y[2 * i, j] = y[2 * j + 1, i]",
        "y[i, 0] += x[i, j]",
    ],
)
def test_iterations_that_may_run_at_once(statement):
    _check_parallel(statement)


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("y[i + 1, j] = y[i, j]", "y[1, 0] is written at i=0, j=0 and then read at i=1, j=0"),
        ("y[i, j] = y[i + 1, j]", "y[1, 0] is read at i=0, j=0 and then written at i=1, j=0"),
        ("y[3, j] = x[i, j]", "y[3, 0] is written at i=0, j=0 and then written at i=1, j=0"),
        ("y[0, j] += x[i, j]", "y[0, 0] is accumulated at i=0, j=0 and then accumulated at i=1"),
    ],
)
def test_iterations_that_may_not_run_at_once(statement, shown):
    with pytest.raises(ScheduleError, match="they cannot run at the same time") as caught:
        _check_parallel(statement)
    assert shown in caught.value.message
