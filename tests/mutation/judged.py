"""What becomes of a program under one step: brute force where the step is accepted."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from tests.mutation.checks import Check, off
from tests.schedule.brute_force import Terms, run, tagged
from tests.schedule.compare_runs import same_terms, turned_around
from tests.schedule.equivalence import in_lockstep, small_integers
from tuner.codegen.opencl import translate
from tuner.errors import CodegenError, ProgramError, ScheduleError, StageError
from tuner.ir.interp import run as interpret
from tuner.ir.nodes import Program
from tuner.ir.structure import check_structure
from tuner.ir.verify import verify
from tuner.ir.visit import loops
from tuner.lower.pipeline import lower
from tuner.schedule.access import accesses, reads
from tuner.schedule.apply import apply
from tuner.schedule.steps import Step
from tuner.target import target

POCL = target("opencl-pocl")


def outcome(program: Program, step: Step, without: Check | None = None) -> str:
    """ "right", or what is wrong with the program after `step`, while the check `without` is off:

    "wrong": an output holds another value, by brute force or in the interpreter; "races":
    iterations that run at the same time meet; "turned": two conflicting instances change places;
    "malformed": the program has no meaning any more, or leaves its buffers; "unsaid": no kernel can
    be generated; "refused": another check refuses; "breaks": the rewrite fails.
    """
    with off(without) if without is not None else nullcontext():
        try:
            after = apply(program, (step,))
        except ScheduleError:
            return "refused"
        except Exception:
            return "breaks"
        try:
            check_structure(after)
            verify(after)
        except (ProgramError, StageError):
            return "malformed"
        if _differs(program, after):
            return "wrong"
        if _indirect(after):
            return "right"
        before = tagged(program)
        try:
            after = apply(before, (step,))
        except ScheduleError:
            return "refused"
    return _by_brute_force(before, after)


def _by_brute_force(before: Program, after: Program) -> str:
    """`outcome` of a step between tagged programs."""
    terms = Terms()
    old, new = run(before, terms), run(after, terms)
    if new.races:
        return "races"
    if not same_terms(after, old, new):
        return "wrong"
    if turned_around(old, new):
        return "turned"
    if any(loop.kind.is_bound for loop in loops(after.body)):
        try:
            translate(lower(after, POCL), "kernel")
        except (CodegenError, ScheduleError):
            return "unsaid"
    return "right"


def _indirect(program: Program) -> bool:
    """Whether a subscript reads a buffer: the interpreter alone judges these."""
    found = accesses(program.body)
    return any(reads(index) for access in found for index in access.indices)


def _differs(before: Program, after: Program) -> bool:
    """Whether the interpreter finds other outputs, vectorized loops in lockstep."""
    inputs = small_integers(before)
    want, found = interpret(before, inputs), interpret(in_lockstep(after), inputs)
    return any(not np.array_equal(want[name], found[name]) for name in want)
