"""Fail where a Python file is longer than 300 lines or a function longer than 40.

A function's docstring does not count. Run as `python -m tools.check_sizes`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("benchmarks", "db", "server", "tests", "tilewright", "tools", "tuner", "workers")
FILE_LINES = 300
FUNCTION_LINES = 40


def function_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end of the body, docstring excluded."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node, clean=False) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def complaints(path: str, text: str) -> Iterator[str]:
    """One line for each thing in `text` that is too long."""
    count = len(text.splitlines())
    if count > FILE_LINES:
        yield f"{path}: {count} lines, at most {FILE_LINES}: split it by theme"
    for node in ast.walk(ast.parse(text, path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = function_lines(node)
            if lines > FUNCTION_LINES:
                place = f"{path}:{node.lineno}: {node.name}"
                yield f"{place} has {lines} lines, at most {FUNCTION_LINES}"


def main() -> int:
    """Check every Python file of the project."""
    paths = [path for folder in FOLDERS for path in sorted(Path(folder).rglob("*.py"))]
    found = [
        line for path in paths for line in complaints(str(path), path.read_text(encoding="utf-8"))
    ]
    print("\n".join(found) if found else f"Sizes: {len(paths)} files, none too long.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
