"""Replay: errors say which step, where, and show the loops; traces keep every program."""

import pytest

from tests.schedule.programs import matmul
from tests.schedule.recipes import packed_matmul
from tuner.errors import ScheduleError
from tuner.frontends.text import parse
from tuner.ir.show import show
from tuner.schedule.apply import REWRITES, apply, trace
from tuner.schedule.steps import STEPS, Reorder, Split, Unroll


def test_every_step_has_its_rewrite_with_before_and_after():
    assert set(REWRITES) == set(STEPS.values())
    for rewrite in REWRITES.values():
        assert "->" in rewrite.__doc__
        assert "Legal " in rewrite.__doc__


def test_error_says_step_position_and_loops():
    steps = (Split("i", 2, "i0", "i1"), Reorder(("k", "j")), Unroll("i1"))
    with pytest.raises(ScheduleError) as caught:
        apply(matmul(4, 4, 4), steps)
    error = caught.value
    assert error.position == 1
    assert error.step == "reorder(loops=('k', 'j'))"
    assert error.loops.startswith("for i0 in range(2):\n    for i1 in range(2):")
    assert str(error).startswith(
        "step 2, reorder(loops=('k', 'j')): k must stand in one chain with j, each loop alone in "
        "the one around it; the chain from there is j\nfor i0 in range(2):"
    )


def test_trace_starts_with_the_input_and_ends_with_the_result():
    program, schedule = matmul(7, 5, 3), packed_matmul(4, 4, 2, 2)
    programs = trace(program, schedule)
    assert len(programs) == len(schedule) + 1
    assert programs[0] is program
    assert programs[-1] == apply(program, schedule)
    for position, step in enumerate(schedule):
        assert programs[position + 1] == apply(programs[position], (step,))


def test_empty_schedule_returns_the_program():
    program = matmul(4, 4, 4)
    assert apply(program, ()) is program


def test_scheduled_programs_are_readable_and_parse_again():
    for program in trace(matmul(7, 5, 3), packed_matmul(4, 4, 2, 2)):
        assert parse(show(program)) == program
