"""`@program`: what becomes of a function's source text."""

from math import exp
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright import buffer, f32, grid, program
from tilewright.programs import Program
from tuner.errors import BoundsRefused, ProgramError, SyntaxRefused, TilewrightError
from tuner.frontends.text import parse

N, M = 6, np.int64(4)
SHIFT = -1.5
CONFIG = {"n": 4}
HERE = Path(__file__).read_text("utf-8").splitlines()


@program
def scaled(x: f32[N, M], y: f32[N, M]):
    """Docstrings and comments stay."""
    t = buffer(f32[N])
    for i in range(N):  # ünïcode before a name: é
        t[i] = SHIFT
        for j in range(M):
            t[i] += x[i, j]
    for i, j in grid(N, M):
        y[i, j] = min(x[i, j], t[i])


SCALED = """
def scaled(x: f32[6, 4], y: f32[6, 4]):
    t = buffer(f32[6])
    for i in range(6):
        t[i] = -1.5
        for j in range(4):
            t[i] += x[i, j]
    for i, j in grid(6, 4):
        y[i, j] = min(x[i, j], t[i])
"""


def test_numbers_of_the_module_become_literals() -> None:
    assert isinstance(scaled, Program)
    assert scaled.name == "scaled"
    assert scaled.definition == parse(SCALED)


def test_the_text_keeps_its_lines() -> None:
    lines = scaled.text.splitlines()
    place = HERE.index("def scaled(x: f32[N, M], y: f32[N, M]):")
    assert lines[place] == "def scaled(x: f32[6, 4], y: f32[6, 4]):"
    assert not "".join(lines[:place])


def test_a_closure_s_numbers_become_literals_in_annotations_too() -> None:
    def made(n: int, factor: float) -> Program:
        only_in_annotation = n + 1

        @program
        def f(x: f32[only_in_annotation], y: f32[n]):
            for i in range(n):
                y[i] = x[i + 1] * factor

        return f

    assert made(3, 2.0).definition == parse(
        "def f(x: f32[4], y: f32[3]):\n    for i in range(3):\n        y[i] = x[i + 1] * 2.0\n"
    )
    assert "1e-05" in made(5, 1e-5).text


def test_words_may_be_reached_through_the_module_or_another_name() -> None:
    element = f32

    @tw.program
    def f(x: tw.const[tw.f32[4]], y: element[4]):
        for i in range(4):
            y[i] = tw.exp(x[i])

    assert f.definition == parse(
        "def f(x: const[f32[4]], y: f32[4]):\n    for i in range(4):\n        y[i] = exp(x[i])\n"
    )


def test_names_of_the_program_win_over_those_around() -> None:
    i, x = 7, "no number"

    @program
    def f(x: f32[4], y: f32[4]):
        for i in range(4):
            y[i] = x[i]

    assert (i, x) == (7, "no number")
    assert f.definition == parse(
        "def f(x: f32[4], y: f32[4]):\n    for i in range(4):\n        y[i] = x[i]\n"
    )


def test_a_refusal_names_the_line_in_the_file() -> None:
    with pytest.raises(BoundsRefused) as caught:

        @program
        def f(x: f32[4], y: f32[4]):
            for i in range(4):
                y[i] = x[i + N]

    line = HERE[caught.value.line - 1]
    assert line.strip() == "y[i] = x[i + N]"


def test_a_function_of_a_word_s_name_is_that_word() -> None:
    @program
    def f(x: f32[4], y: f32[4]):
        for i in range(4):
            y[i] = exp(x[i])

    assert "y[i] = exp(x[i])" in f.text


def test_a_number_without_a_value_yet_is_refused_as_unknown() -> None:
    with pytest.raises(SyntaxRefused, match="later"):

        @program
        def f(x: f32[4], y: f32[4]):
            for i in range(4):
                y[i] = x[i] * later

    later = 2.0
    assert later == 2.0


def test_what_is_no_number_is_refused_with_its_place() -> None:
    with pytest.raises(SyntaxRefused, match="'CONFIG' is a dict here") as caught:

        @program
        def f(x: f32[4], y: f32[4]):
            for i in range(4):
                y[i] = x[i] + CONFIG

    assert "CONFIG" in HERE[caught.value.line - 1]


def test_a_lambda_and_a_callable_are_no_programs() -> None:
    with pytest.raises(ProgramError, match="written with `def`"):
        program(lambda x: x)
    with pytest.raises(ProgramError, match="expected a plain function, found type"):
        program(dict)


def test_another_decorator_is_refused() -> None:
    def as_it_is(function: object) -> object:
        return function

    with pytest.raises(ProgramError, match="no other decorator"):

        @program
        @as_it_is
        def f(x: f32[4], y: f32[4]):
            y[0] = x[0]


def test_a_function_without_a_file_is_refused() -> None:
    scope: dict[str, object] = {"f32": f32}
    exec("def f(x: f32[4], y: f32[4]):\n    y[0] = x[0]\n", scope)
    with pytest.raises(ProgramError, match="define it in a file"):
        program(scope["f"])  # type: ignore[arg-type]


def test_a_program_is_not_called() -> None:
    with pytest.raises(TilewrightError, match=r"scaled\.tune\(\) gives what can be called"):
        scaled(None, None)
