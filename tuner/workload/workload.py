"""Workloads: canonical programs with their hash. Same hash, same computation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuner.errors import ProgramError, ScheduleError
from tuner.ir.canonical import canonicalize, workload_hash
from tuner.ir.nodes import Program
from tuner.ir.verify import verify
from tuner.schedule.loop_kinds import check_loops
from tuner.workload.catalogue import complete_sizes
from tuner.workload.count import flops, io_bytes
from tuner.workload.operator import Sizes


@dataclass(frozen=True, slots=True)
class Workload:
    """What is tuned, recorded and served."""

    #: `w1:` and 32 hexadecimal digits
    hash: str
    #: canonical
    program: Program
    #: canonical name -> the user's, for display; "program" is the program itself
    names: Mapping[str, str]
    #: operations on data per call
    flops: int
    #: each input and output once
    io_bytes: int
    #: the catalogue's operator it was asked for by, if any
    op: str | None = None
    #: all sizes of `op`, defaults filled in; empty for a program text
    sizes: Sizes = field(default_factory=dict)


def admit(program: Program, op: str | None = None, sizes: Sizes | None = None) -> Workload:
    """The workload of a program that the parser gave, or the catalogue for `op` at `sizes`.

    Raises ProgramError where nothing is left of it once dead statements are gone, or where a loop
    that is written as unrolled, vectorized, parallel or bound cannot be executed so; the message is
    the primitive's.
    """
    canonical, names = canonicalize(program)
    verify(canonical)
    try:
        check_loops(canonical)
    except ScheduleError as error:
        raise ProgramError(error.message) from error
    return Workload(
        hash=workload_hash(canonical), program=canonical, names=names,
        flops=flops(canonical), io_bytes=io_bytes(canonical), op=op,
        sizes=complete_sizes(op, sizes or {}) if op else {},
    )  # fmt: skip
