"""Lines of text with indentation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

INDENT = "    "


class Emitter:
    """Collects lines; blocks are indented by one step."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def line(self, text: str) -> None:
        self._lines.append(INDENT * self._depth + text if text else "")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """`head {` … `}`"""
        self.line(f"{head} {{".lstrip())
        self._depth += 1
        yield
        self._depth -= 1
        self.line("}")

    def text(self) -> str:
        return "\n".join(self._lines)
