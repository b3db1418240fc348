"""Moving an SQLite database to PostgreSQL: everything, verified, or nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from sqlalchemy import JSON, Column, Connection, Table, Text, cast, func, select, text, type_coerce
from sqlalchemy.sql.elements import ColumnElement

from db.engine import Database
from db.locks import Role
from db.migrate import migrate
from db.opening import hold, open
from db.schema import WorkloadRow
from tuner.errors import Conflict, LogError

_TABLES = WorkloadRow.metadata.sorted_tables
#: Rows that are in memory at a time.
_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Copied:
    """A table that is the same in both databases."""

    table: str
    rows: int
    #: over its rows, in whatever order
    sha256: str


def copy(source_url: str, target_url: str) -> list[Copied]:
    """Copies a database without changing it. The target is empty, or has this version's schema
    and no rows; the copy is one transaction, which is committed once every table was read back
    and found equal.

    Raises Conflict where a server or tuner has the source open, or the target has rows; LogError
    where the source is not of this version, or a table did not arrive as it was.
    """
    with ExitStack() as over:
        source = open(source_url)
        over.callback(source.close)
        for role in Role:
            lock = hold(source.engine.url, role)
            if lock is not None:
                over.callback(lock.release)
        migrate(target_url)
        target = open(target_url)
        over.callback(target.close)
        return _copy(source, target)


def _copy(source: Database, target: Database) -> list[Copied]:
    with source.read() as reading, target.write() as writing:
        old, new = reading.connection(), writing.connection()
        _require_empty(new)
        sent = [_send(table, old, new) for table in _TABLES]
        found = [_sum(table, _rows(table, new)) for table in _TABLES]
        for ours, theirs in zip(sent, found, strict=True):
            if ours != theirs:
                raise LogError(
                    f"table {ours.table}: {ours.rows} rows with checksum {ours.sha256} were sent, "
                    f"{theirs.rows} with {theirs.sha256} arrived; nothing was copied"
                )
        for table, last in _last_numbers(old).items():
            _number_from(new, table, last)
    return sent


def _require_empty(target: Connection) -> None:
    names = ", ".join(table.name for table in _TABLES)
    target.execute(text(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE"))
    for table in _TABLES:
        rows = target.execute(select(func.count()).select_from(table)).scalar_one()
        if rows:
            raise Conflict(
                f"table {table.name} of {target.engine.url} has {rows} rows; expected a new "
                "database: drop it and create it again, then copy"
            )


def _send(table: Table, source: Connection, target: Connection) -> Copied:
    driver: Any = target.connection.driver_connection
    columns = ", ".join(f'"{column.name}"' for column in table.c)
    try:
        with driver.cursor().copy(f"COPY {table.name} ({columns}) FROM STDIN") as to:
            return _sum(table, _passed_to(to, _rows(table, source)))
    except target.dialect.loaded_dbapi.Error as error:
        raise LogError(f"table {table.name} was refused, nothing was copied: {error}") from error


def _passed_to(to: Any, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    for row in rows:
        to.write_row(row)
        yield row


def _rows(table: Table, connection: Connection) -> Iterator[tuple[Any, ...]]:
    """The rows of a table, streamed; JSON as its text."""
    sqlite = connection.dialect.name == "sqlite"
    query = select(*(_read(column, sqlite) for column in table.c))
    for row in connection.execute(query.execution_options(yield_per=_AT_ONCE)):
        yield tuple(row)


def _read(column: Column[Any], sqlite: bool) -> ColumnElement[Any]:
    if not isinstance(column.type, JSON):
        return column
    return type_coerce(column, Text) if sqlite else cast(column, Text)


def _sum(table: Table, rows: Iterable[Sequence[Any]]) -> Copied:
    """Counts and sums up: digests of the rows are added, so neither side has to sort."""
    number, total = 0, 0
    for row in rows:
        digest = hashlib.sha256(repr(tuple(row)).encode()).digest()
        number, total = number + 1, total + int.from_bytes(digest)
    return Copied(table.name, number, f"{total % (1 << 256):064x}")


def _last_numbers(source: Connection) -> dict[str, int]:
    """Table -> the highest number it ever gave, also to rows that are gone."""
    query = text("SELECT name, seq FROM sqlite_sequence WHERE seq > 0")
    known = {table.name for table in _TABLES}
    return {row.name: row.seq for row in source.execute(query) if row.name in known}


def _number_from(target: Connection, table: str, last: int) -> None:
    (column,) = WorkloadRow.metadata.tables[table].primary_key
    target.execute(
        text("SELECT setval(pg_get_serial_sequence(:table, :column), :last)"),
        {"table": table, "column": column.name, "last": last},
    )
