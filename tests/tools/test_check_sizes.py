from tools.check_sizes import FILE_LINES, FUNCTION_LINES, complaints


def _function(body_lines: int, docstring: str = "") -> str:
    return "def f():\n" + docstring + "    x = 1\n" * body_lines


def test_a_function_of_the_allowed_length_passes_whatever_its_docstring() -> None:
    docstring = '    """One.\n\n' + "    more\n" * 20 + '    """\n'
    assert list(complaints("a.py", _function(FUNCTION_LINES - 1, docstring))) == []


def test_a_long_function_is_named_with_its_line() -> None:
    text = "\n" + _function(FUNCTION_LINES)
    assert list(complaints("a.py", text)) == ["a.py:2: f has 41 lines, at most 40"]


def test_a_long_file_is_named() -> None:
    found = list(complaints("a.py", "x = 1\n" * (FILE_LINES + 1)))
    assert found == ["a.py: 301 lines, at most 300: split it by theme"]
