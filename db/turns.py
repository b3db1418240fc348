"""Who writes when: what keeps writers apart on PostgreSQL, where any number write at a time.

SQLite has one writer at a time, and does without all of this.
"""

from __future__ import annotations

from typing import Any, TypeVar

from sqlalchemy import Select, text
from sqlalchemy.orm import Session

from db.postgres import CHANNEL

#: What a transaction takes last, before it adds to the log: records are numbered in the order in
#: which they are committed, so whoever has read up to a number has missed none below it.
LOG = "log"
_TOLD = "tilewright_told"
_T = TypeVar("_T")


def locked(query: Select[_T], skip: bool = False, of: type[Any] | None = None) -> Select[_T]:
    """Rows of `query` as they are now, which nobody else changes until this transaction ends.

    Waits for those who have them, or with `skip` leaves such rows out. `of`: only rows of this
    table are locked, where the query joins others.
    """
    # NO KEY UPDATE: rows that refer to the locked ones can still be added.
    mine = query.with_for_update(key_share=True, skip_locked=skip, of=of)
    return mine.execution_options(populate_existing=True)


def in_turn(session: Session, name: str) -> None:
    """Until this transaction ends no other one passes here with the same `name`."""
    if _is_postgres(session):
        lock = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")
        session.execute(lock, {"name": f"tilewright {name}"})


def tell(session: Session) -> None:
    """Wakes those who wait, once this transaction is committed."""
    if _is_postgres(session) and not session.info.get(_TOLD):
        session.info[_TOLD] = True
        session.execute(text(f"NOTIFY {CHANNEL}"))


def _is_postgres(session: Session) -> bool:
    return session.get_bind().dialect.name == "postgresql"
