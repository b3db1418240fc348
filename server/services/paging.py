"""Cursors: opaque to callers, stable while rows are added."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

from fastapi import Query

from server.problems import Problem

Limit = Annotated[int, Query(ge=1, le=1000)]
Cursor = Annotated[str | None, Query(max_length=200, description="`next` of the page before")]


def write_cursor(position: int | str) -> str:
    return base64.urlsafe_b64encode(str(position).encode()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> str | None:
    """The position that was written. Raises Problem on anything else."""
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise _bad(cursor) from error


def read_number(cursor: str | None) -> int | None:
    """As `read_cursor`, for a position that is a number."""
    text = read_cursor(cursor)
    if text is not None and not (text.isdecimal() and len(text) < 19):
        raise _bad(str(cursor))
    return None if text is None else int(text)


def _bad(cursor: str) -> Problem:
    return Problem("invalid-request", 422, f"{cursor!r} is no cursor of this list")
