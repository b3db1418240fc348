from pathlib import Path

import pytest

from tilewright.commands.options import UsageError, program_text

FUNCTION = "def f(x: f32[4], y: f32[4]):\n    for i in range(4):\n        y[i] = x[i]\n"


def test_an_importable_module_gives_its_function_on_the_same_lines(tmp_path: Path) -> None:
    path = tmp_path / "f.py"
    path.write_text("from tilewright import f32\n\n\n" + FUNCTION + "\nLIMIT = 4\n")
    assert program_text(path) == "\n\n\n" + FUNCTION


def test_a_text_that_is_no_python_is_left_to_the_service(tmp_path: Path) -> None:
    path = tmp_path / "f.py"
    path.write_text("def f(:\n")
    assert program_text(path) == "def f(:\n"


def test_a_file_with_two_functions_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.py"
    path.write_text(FUNCTION + FUNCTION)
    with pytest.raises(UsageError, match="expected one function, found 2"):
        program_text(path)
