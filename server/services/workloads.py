"""From what a user names, an operator with sizes or a program text, to a workload."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from db.jobs import NewWorkload
from server.problems import Problem, problem_of
from server.schemas import WorkloadIn
from tuner.errors import TilewrightError
from tuner.frontends.catalogue import program_for
from tuner.frontends.text import parse
from tuner.ir.show import show
from tuner.log import LoggedWorkload
from tuner.workload.catalogue import complete_sizes
from tuner.workload.workload import Workload, admit

T = TypeVar("T")


def resolve(asked: WorkloadIn, pointer: str = "") -> NewWorkload:
    """Raises a Problem that points at `pointer` where the workload is refused."""
    if asked.program is not None:
        text = asked.program
        workload = refused_at(f"{pointer}/program", lambda: admit(parse(text)))
        name = asked.name or workload.names[workload.program.name]
        return NewWorkload(logged=logged(workload), name=name, op=None, sizes={})
    op = asked.op or ""
    workload = refused_at(pointer or "/op", lambda: _of_operator(op, asked))
    sizes = dict(workload.sizes or {})
    return NewWorkload(logged=logged(workload), name=asked.name or op, op=op, sizes=sizes)


def _of_operator(op: str, asked: WorkloadIn) -> Workload:
    program = program_for(op, asked.sizes, asked.dtype, asked.constants)
    return admit(program, op, complete_sizes(op, asked.sizes))


def logged(workload: Workload) -> LoggedWorkload:
    """The workload as the log keeps it."""
    return LoggedWorkload(
        hash=workload.hash,
        text=show(workload.program),
        names=workload.names,
        op=workload.op,
        sizes=workload.sizes or {},
        flops=workload.flops,
        io_bytes=workload.io_bytes,
    )


def refused_at(pointer: str, make: Callable[[], T]) -> T:
    """`make()`; a refusal becomes a Problem that points at the place in the request's body."""
    try:
        return make()
    except TilewrightError as error:
        problem = problem_of(error, pointer=pointer)
        raise Problem(problem.kind, problem.status, problem.detail, **problem.extra) from error
