"""Options that several commands share, and what is made of them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Annotated

import httpx
import typer

from tilewright import connection
from tilewright.client import HttpClient, Json
from tuner.errors import TilewrightError

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Op = Annotated[str | None, typer.Option(help="An operator: matmul, conv2d, softmax, …")]
Sizes = Annotated[str, typer.Option(help="The operator's sizes: m=512,n=512,k=512.")]
DTypeName = Annotated[str, typer.Option(help="Element type.")]
Constants = Annotated[
    str, typer.Option(help="Inputs of the operator that are the same in all calls: b,bias.")
]
ProgramFile = Annotated[
    Path | None, typer.Option("--program", help="A file with the program's text.")
]
TargetName = Annotated[
    str | None, typer.Option(help="Kind of hardware; that of the live workers if omitted.")
]


class UsageError(TilewrightError):
    """Options that do not go together, or a file that cannot be read."""


def connect(context: typer.Context) -> HttpClient:
    """A client for the service; `context.obj` may hold the transport to use."""
    transport: httpx.BaseTransport | None = context.obj
    return HttpClient(connection.find(), transport)


def workload(
    op: str | None, sizes: str, dtype: str, program: Path | None, constants: str = ""
) -> Json:
    """The workload that the options name, as the service takes it."""
    if (op is None) == (program is None):
        raise UsageError("give either --op with --sizes, or --program FILE")
    if program is not None:
        if constants:
            raise UsageError("--constants belongs to --op; a program declares its own const[…]")
        return {"program": program_text(program)}
    names = [name.strip() for name in constants.split(",") if name.strip()]
    return {"op": op, "sizes": parse_sizes(sizes), "dtype": dtype} | (
        {"constants": names} if names else {}
    )


def parse_sizes(text: str) -> dict[str, int | str]:
    """`m=512,activation=relu` as a dictionary."""
    sizes: dict[str, int | str] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name or not value:
            raise UsageError(f"--sizes: expected NAME=NUMBER, found {part!r}: m=512,n=512,k=512")
        if name in sizes:
            raise UsageError(f"--sizes: {name} is given twice")
        sizes[name] = int(value) if value.lstrip("-").isdecimal() else value
    return sizes


def program_text(path: Path) -> str:
    """The program in a file: of an importable module with one function, that function alone.

    Lines before it are kept as empty ones, so that the service's errors name the file's lines.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"cannot read {path}: {reason}") from error
    try:
        functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text  # the service says what is wrong with it, and where
    if len(functions) != 1:
        raise UsageError(f"{path}: expected one function, found {len(functions)}")
    first, last = functions[0].lineno, functions[0].end_lineno
    return "\n" * (first - 1) + "\n".join(text.splitlines()[first - 1 : last]) + "\n"
