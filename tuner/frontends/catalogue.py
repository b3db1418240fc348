"""Operators by name to programs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tuner.errors import ProgramError, WorkloadError
from tuner.frontends.text import parse
from tuner.ir.nodes import Program
from tuner.ir.visit import outputs
from tuner.workload.catalogue import program_text
from tuner.workload.operator import Sizes


def program_for(
    op: str, sizes: Sizes, dtype: str = "f32", constants: Collection[str] = ()
) -> Program:
    """The program of catalogue operator `op`; omitted sizes take their defaults. The inputs named
    in `constants` stay the same over calls, beside those that do in the catalogue.

    Raises WorkloadError for what the catalogue lacks, and for sizes beyond the parser's limits.
    """
    text = program_text(op, sizes, dtype)
    try:
        return _with_constants(parse(text), constants)
    except ProgramError as error:
        given = ", ".join(f"{name}={value}" for name, value in sizes.items())
        raise WorkloadError(f"{op} with {given}: {error.message}") from error


def _with_constants(program: Program, names: Collection[str]) -> Program:
    inputs = [b.name for b in program.params if b.name not in outputs(program)]
    for name in names:
        if name not in inputs:
            raise WorkloadError(
                f"{program.name}: no input {name!r} that could be constant; there are: "
                f"{', '.join(inputs)}"
            )
    params = tuple(replace(b, const=b.const or b.name in names) for b in program.params)
    return replace(program, params=params)
