"""Mutation: without any one check of legality, something goes wrong.

Each check of tuner.schedule stands in the cases, with a small program and a step that it alone
decides, or in BESIDES, with the reason why no program's meaning hangs on it. What the outcomes mean
is said in `tests.mutation.judged`; "refused" and "right" are those of checks that others ask again,
or that are asked for clarity or economy.
"""

from __future__ import annotations

import pytest

from tests.mutation import cases_loops, cases_memory, cases_reverse
from tests.mutation.checks import checks
from tests.mutation.judged import outcome
from tuner.errors import ScheduleError
from tuner.schedule.apply import apply

CASES = {**cases_loops.CASES, **cases_memory.CASES, **cases_reverse.CASES}

#: Asked first so that the message says what to do; others ask what is needed for the meaning.
ASKED_AGAIN = {
    "annotate.vectorize: check_vectorized()",
    "bind.bind: check_bound()",
    "cache.cache_write: is vectorized: cache before vectorizing",
    "cache_read.cache_read: is vectorized: cache before vectorizing",
    "compute_at.compute_at: is vectorized: move before vectorizing",
    "pack._scope: is vectorized: pack before vectorizing",
    "parallel.parallel: check_one_level()",
    "parallel.parallel: check_threads()",
    "reducers.check_declared: ScheduleError(f'{show_body((store,)).strip()}: {_w",
    "reduction._accumulation: check_declared()",
    "reverse_compute_at.reverse_compute_at: is vectorized: move before vectorizing",
    "reverse_inline._check_free: would move into lanes: vectorize later",
}
#: Refused although it would be right.
NOT_WANTED = {
    "inline._source: nothing reads": "a step that does nothing",
    "inline._source: says: what a subscript reads stays in a buffer":
        "generated code reads a subscript's data by one load",
    "nest.find_serial: change a loop before it is annotated":
        "what was asked of the loop would be forgotten",
    "parallel.check_one_level: cannot both be parallel, one inside the other: fus":
        "targets have one team of threads",
    "reduction._start: contains nothing but this assignment": "a step that does nothing",
    "transform_layout._sizes: state in padded that it is rounded up to":
        "a schedule says where it takes more memory",
}  # fmt: skip
_LIMIT = "a limit of size or time"
_ARGUMENT = "arguments that name something or mean something at all"
_TEXT = "asked of program texts (tests/workload/test_admission.py)"
_QUESTION = "a question about the text, which several checks ask"
_PROVEN = "asked to be sure: what is proven before implies it in all programs that are known"
_ECONOMY = "whether copies are needed; what needs them and has none is refused after that"
#: Checks that decide nothing about a program's meaning.
BESIDES = {
    "annotate.unroll: check_unrolled()": _LIMIT,
    "annotate.check_unrolled: are allowed: split the loop and unroll the inner p": _LIMIT,
    "defined.check_defined: the exact analysis found": _LIMIT,
    "defined.undefined: no answer within": _LIMIT,
    "dependence._smallest: no answer within": _LIMIT,
    "inline._value_at: the expression has more than": _LIMIT,
    "loops.fuse: iterations, more than": _LIMIT,
    "nest.declare: check_size()": _LIMIT,
    "nest.redeclare: check_size()": _LIMIT,
    "nest.check_size: may live in registers or on the stack: use smaller": _LIMIT,
    "notes.prefetch: ahead must be between 1 and": _LIMIT,
    "notes._noted: expected another one, and at most": _LIMIT,
    "pack.pack: bytes; at most": _LIMIT,
    "parallel._copied: make a loop of fewer iterations parallel": _LIMIT,
    "region.touched: has no bounds": _LIMIT,
    "transform_layout.transform_layout: the buffer needs": _LIMIT,
    "bind.bind: no axis is called": _ARGUMENT,
    "loops.partition: is ever true: there is nothing to cut": _ARGUMENT,
    "loops.reorder: expected different loops; found": _ARGUMENT,
    "nest.find: no loop is called": _ARGUMENT,
    "nest.find_buffer: no buffer is called": _ARGUMENT,
    "nest.check_fresh: cannot name a loop or buffer: use a plain identifi": _ARGUMENT,
    "nest.check_count: expected": _ARGUMENT,
    "notes.annotate: cannot be a note: expected 1 to 64 letters, digits": _ARGUMENT,
    "notes.prefetch: is local: it is in registers or in the cache alrea": _ARGUMENT,
    "notes.prefetch: there is nothing to fetch early": _ARGUMENT,
    "pack.parse_layout: dimensions; found the layout": _ARGUMENT,
    "pack.parse_layout: expected 'd', 'd//factor' or 'd%factor'; found": _ARGUMENT,
    "pack.parse_layout: must stand in the layout once as '": _ARGUMENT,
    "set_scope.parse_scope: a scope is 'local', 'shared' or 'global'; found": _ARGUMENT,
    "staging.stage: order must be () or a permutation of the": _ARGUMENT,
    "loop_kinds.check_loops: LoopChecks().check()": _TEXT,
    "parallel.check_threads: check_one_level()": _TEXT,
    "access.Access.writes": _QUESTION,
    "access.Access.accumulates": _QUESTION,
    "legality._varies": _QUESTION,
    "nest.has_load": _QUESTION,
    "parallel._is_global": _QUESTION,
    "parallel._is_apart": _ECONOMY,
    "parallel._is_apart: check_parallel()": _ECONOMY,
    "private._uses": _QUESTION,
    "reducers._is_own": _QUESTION,
    "reducers._own": _QUESTION,
    "substitution._is_guard": _QUESTION,
    "dependence.is_exact": _PROVEN,
    "inline.inline: cannot be proven in bounds there": _PROVEN,
    "reverse_inline.reverse_inline: cannot be proven in bounds where it would be": _PROVEN,
    "apply._programs: ScheduleError(error.message, step_text(step), loop":
        "says where another check has refused",
}  # fmt: skip


def _is_form(name: str) -> bool:
    """Whether the check is of names and counts, or of a schedule's JSON."""
    return name.startswith("steps.") or name.endswith(("check_fresh()", "check_count()"))


def test_every_check_is_accounted_for() -> None:
    known = {n for n in checks() if not _is_form(n.partition(" (")[0])}
    assert known == CASES.keys() | BESIDES.keys()
    assert not CASES.keys() & BESIDES.keys()


def test_only_the_listed_ones_change_nothing() -> None:
    by_outcome = {
        what: {n for n, case in CASES.items() if case.becomes == what}
        for what in ("refused", "right")
    }
    assert by_outcome == {"refused": ASKED_AGAIN, "right": set(NOT_WANTED)}


@pytest.mark.parametrize("name", CASES)
def test_without_it_something_goes_wrong(name: str) -> None:
    check, case = checks()[name], CASES[name]
    program = case.program()
    if (intact := outcome(program, case.step)) == "refused":
        with pytest.raises(ScheduleError) as refusal:
            apply(program, (case.step,))
        assert check.answer or check.refused(refusal.value), refusal.value
    else:
        # the answer decides how the step is done, and either way keeps the meaning
        assert check.answer
        assert intact == "right"
    assert outcome(program, case.step, check) == case.becomes
