"""The command `tilewright`. Every error is one line on stderr and a non-zero exit status."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import httpx
import typer

from tilewright.commands import databases, jobs, log, roles, schedules
from tilewright.commands.tune import tune
from tuner.errors import TilewrightError

app = typer.Typer(
    name="tilewright",
    help="Search the schedules of tensor programs; serve the best that was verified.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (
    roles.up,
    roles.server,
    roles.tuner,
    roles.worker,
    tune,
    schedules.best,
    schedules.show,
    schedules.source,
    schedules.records,
):
    app.command()(command)
app.add_typer(jobs.app, name="jobs")
app.add_typer(log.app, name="log")
app.add_typer(databases.app, name="db")


def run(
    arguments: Sequence[str] | None = None, transport: httpx.BaseTransport | None = None
) -> int:
    """Run a command; its exit status. `transport` stands in for the network in tests."""
    try:
        status = app(arguments, standalone_mode=False, obj=transport)
    except typer.TyperException as error:
        return _fail(error.format_message(), error.exit_code)
    except TilewrightError as error:
        return _fail(str(error), 1)
    return status if isinstance(status, int) else 0


def _fail(message: str, status: int) -> int:
    print(f"tilewright: {message}" if message else "", file=sys.stderr)
    return status


def main() -> None:
    """Entry point of the console script."""
    sys.exit(run())
