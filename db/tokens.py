"""Tokens: who may do what. Only a token's sha256 is kept, so the database gives none away."""

from __future__ import annotations

import hashlib
import secrets
import uuid
from enum import StrEnum

from sqlalchemy import select
from sqlalchemy.orm import Session

from db.schema import TokenRow


class TokenRole(StrEnum):
    """admin may do everything; submit also reads; work is for workers alone."""

    ADMIN = "admin"
    SUBMIT = "submit"
    READ = "read"
    WORK = "work"


def create(session: Session, name: str, role: TokenRole, now: float) -> str:
    """A new token; this is the only time that it is shown."""
    secret = "tw_" + secrets.token_urlsafe(32)
    row = TokenRow(
        id=uuid.uuid4().hex, sha256=_digest(secret), name=name, role=str(role), created_at=now
    )
    session.add(row)
    session.flush()
    return secret


def find(session: Session, secret: str) -> TokenRow | None:
    """The token's row, None if there is no such token."""
    return session.scalar(select(TokenRow).where(TokenRow.sha256 == _digest(secret)))


def _digest(secret: str) -> str:
    # The secret has 256 random bits: a plain digest cannot be guessed back, no salt is needed.
    return hashlib.sha256(secret.encode()).hexdigest()
