"""Notes on loops: remarks, and hints that a code generator may follow. They have no meaning of
their own: a program computes the same with and without them."""

from __future__ import annotations

import re

#: What a note may be, so that program texts and comments can hold it.
NOTE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ .,:;=+-]{0,63}")
#: Most notes on one loop.
MAX_NOTES = 8
_PREFETCH = re.compile(r"prefetch ([A-Za-z_]\w*) ([1-9]\d{0,4})")


def is_note(text: object) -> bool:
    """Whether `text` can be a note."""
    return isinstance(text, str) and NOTE.fullmatch(text) is not None


def prefetch_note(buffer: str, ahead: int) -> str:
    """The note that asks for `buffer` to be fetched `ahead` iterations early."""
    return f"prefetch {buffer} {ahead}"


def as_prefetch(note: str) -> tuple[str, int] | None:
    """The buffer and the distance of a note that `prefetch_note` made; None for a remark."""
    found = _PREFETCH.fullmatch(note)
    return (found[1], int(found[2])) if found else None
