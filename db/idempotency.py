"""A repeated idempotency key gets the first answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from db.schema import IdempotencyRow
from db.turns import in_turn
from tuner.errors import Conflict


@dataclass(frozen=True, slots=True)
class Key:
    """An idempotency key of one token, and the sha256 of what is asked under it."""

    token: str
    key: str
    request: str


def answered(session: Session, key: Key) -> dict[str, Any] | None:
    """The first answer, None if the key is new. Raises Conflict if it asked something else."""
    in_turn(session, f"key {key.token} {key.key}")
    row = session.get(IdempotencyRow, (key.token, key.key))
    if row is None:
        return None
    if row.request != key.request:
        raise Conflict(f"idempotency key {key.key!r} was used before with another request")
    return row.answer


def keep(session: Session, key: Key, answer: dict[str, Any], now: float) -> None:
    """Keeps the first answer to a new key."""
    session.add(
        IdempotencyRow(
            token=key.token, key=key.key, request=key.request, answer=answer, created_at=now
        )
    )
