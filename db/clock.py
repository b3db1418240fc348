"""Moments: seconds since 1970 in UTC, from a clock that a test may replace."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], float]

wall_clock: Clock = time.time


def moment_of(text: str) -> float:
    """The inverse of `iso`. Raises ValueError on another form."""
    return datetime.fromisoformat(text).timestamp()


def iso(moment: float) -> str:
    """ISO 8601 in UTC."""
    return datetime.fromtimestamp(moment, UTC).isoformat()
