"""`tilewright log`: export and import the tuning log as JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from tilewright import output
from tilewright.commands import options

app = typer.Typer(no_args_is_help=True, help="Export and import the tuning log as JSON lines.")

#: Bytes of a file that are sent at a time.
_CHUNK = 64 << 10
#: Refused lines that are printed.
_SHOWN = 20
File = Annotated[Path, typer.Argument(help="A file; - for standard output or input.")]


@app.command("export")
def export_log(  # noqa: PLR0913 - one argument for each option
    context: typer.Context,
    file: File,
    *,
    workload: Annotated[str | None, typer.Option(help="A workload's hash: w1:…")] = None,
    target: options.TargetName = None,
    fingerprint: Annotated[str | None, typer.Option(help="A machine: f1:…")] = None,
    job: Annotated[str | None, typer.Option(help="A job's id.")] = None,
    canonical: Annotated[
        bool,
        typer.Option("--canonical", help="Of one job, only what two equal runs have in common."),
    ] = False,
) -> None:
    """Write workloads and records, oldest first, one a line."""
    query = {"workload": workload, "target": target, "fingerprint": fingerprint, "job": job}
    if canonical:
        query["canonical"] = "true"
    with options.connect(context) as client, _written(file) as to:
        for piece in client.pieces("/v1/records/export", **query):
            to.write(piece)


def _written(file: Path) -> nullcontext[BinaryIO] | BinaryIO:
    if str(file) == "-":
        return nullcontext(sys.stdout.buffer)
    try:
        return file.open("wb")
    except OSError as error:
        raise options.UsageError(f"cannot write {file}: {error.strerror}") from error


@app.command("import")
def import_log(context: typer.Context, file: File, as_json: options.JsonFlag = False) -> None:
    """Take in what was exported; needs an admin's token. What is there already is left as it is.

    Exits with status 1 where lines were refused; the others were taken in.
    """
    with options.connect(context) as client:
        came = client.upload("/v1/records/import", _pieces(file))
    if as_json:
        output.print_json(came)
    else:
        output.print_lines([
            f"{came['lines']} lines: {came['records_added']} records and "
            f"{came['workloads_added']} workloads were new, {came['records_known']} and "
            f"{came['workloads_known']} were there already, {came['lines_refused']} lines refused",
            *(f"  line {one['line']}: {one['reason']}" for one in came["refused"][:_SHOWN]),
        ])  # fmt: skip
    if came["lines_refused"]:
        raise typer.Exit(1)


def _pieces(file: Path) -> Iterator[bytes]:
    try:
        source = nullcontext(sys.stdin.buffer) if str(file) == "-" else file.open("rb")
        with source as stream:
            while piece := stream.read(_CHUNK):
                yield piece
    except OSError as error:
        raise options.UsageError(f"cannot read {file}: {error.strerror}") from error
