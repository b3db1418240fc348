"""`tilewright db`: care of the database itself, beside the service."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tilewright import output
from tilewright.commands import options
from tilewright.commands.roles import needing

app = typer.Typer(no_args_is_help=True, help="Care of the database itself.")


@app.callback()
def _commands() -> None:
    """Keeps `copy` a command of its own while it is the only one."""


@app.command("copy")
def copy_database(
    path: Annotated[Path, typer.Argument(help="The SQLite database: DATA/tilewright.db.")],
    url: Annotated[
        str,
        typer.Argument(
            envvar="TILEWRIGHT_DATABASE", help="postgresql://USER@HOST/NAME of a new database."
        ),
    ],
    as_json: options.JsonFlag = False,
) -> None:
    """Copy an SQLite database to PostgreSQL, everything or nothing, and compare what arrived.

    Stop server and tuner first. The SQLite database is left as it is. Tokens stay valid: go on
    with `tilewright server --data DATA --database URL`.
    """
    with needing("server,postgres"):
        from db.copying import copy
        from tilewright.deployment import checked_url
    if not checked_url(url, path.parent).startswith("postgresql"):
        raise options.UsageError(
            "db copy moves to PostgreSQL: expected postgresql://USER@HOST/NAME"
        )
    copied = copy(f"sqlite:///{path.absolute()}", url)
    if as_json:
        output.print_json({"tables": [asdict(one) for one in copied]})
        return
    width = max(len(one.table) for one in copied)
    output.print_lines([
        *(f"{one.table:{width}}  {one.rows:>10}  {one.sha256}" for one in copied),
        f"{sum(one.rows for one in copied)} rows, all of them read back and equal",
    ])  # fmt: skip
