"""Operators by name to programs."""

from __future__ import annotations

from tuner.errors import ProgramError, WorkloadError
from tuner.frontends.text import parse
from tuner.ir.nodes import Program
from tuner.workload.catalogue import program_text
from tuner.workload.operator import Sizes


def program_for(op: str, sizes: Sizes, dtype: str = "f32") -> Program:
    """The program of catalogue operator `op`; omitted sizes take their defaults.

    Raises WorkloadError for what the catalogue lacks, and for sizes beyond the parser's limits.
    """
    text = program_text(op, sizes, dtype)
    try:
        return parse(text)
    except ProgramError as error:
        given = ", ".join(f"{name}={value}" for name, value in sizes.items())
        raise WorkloadError(f"{op} with {given}: {error.message}") from error
