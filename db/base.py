"""What all tables share: how Python's types are kept, and what constraints are called."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, Double, Integer, MetaData, String, Text
from sqlalchemy.orm import DeclarativeBase


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 (SQLAlchemy reads it from the class)
        dict[str, Any]: JSON,
        list[str]: JSON,
        # What SQLite takes of any length and size, PostgreSQL shall take too.
        str: String(255).with_variant(Text, "postgresql"),
        int: Integer().with_variant(BigInteger(), "postgresql"),
        float: Double,
    }
