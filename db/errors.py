"""A database that does not answer, or that gave a transaction up."""

from __future__ import annotations

from sqlalchemy import URL

from tuner.errors import LogError


class DatabaseUnavailable(LogError):
    """Nothing was written; the same may go through when it is tried again."""


def unavailable(url: URL, error: Exception) -> DatabaseUnavailable:
    """Tells `error` of the database at `url`, whose password is left out."""
    reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
    return DatabaseUnavailable(f"{url}: {reason}")
