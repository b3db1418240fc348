"""What changed from one text to the next, as hunks of whole lines."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that were replaced; one side may be empty."""

    #: where the removed lines began, counted from 1; with none, the line before which they would
    before_line: int
    removed: tuple[str, ...]
    #: likewise in the new text
    after_line: int
    added: tuple[str, ...]


def hunks(before: str, after: str) -> tuple[Hunk, ...]:
    """The differences in their order. Between them, both texts have the same lines."""
    old, new = before.splitlines(), after.splitlines()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return tuple(
        Hunk(i + 1, tuple(old[i:i_end]), j + 1, tuple(new[j:j_end]))
        for tag, i, i_end, j, j_end in matcher.get_opcodes()
        if tag != "equal"
    )
