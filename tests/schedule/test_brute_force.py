"""The checks of legality in both directions, by brute force on small programs."""

import random
import sys
from collections import Counter, defaultdict
from itertools import product

import pytest

from tests.schedule.brute_force import TAG, Terms, integer, run, tagged
from tests.schedule.compare_runs import same_terms, turned_around
from tests.schedule.random_programs import random_program, random_recurrence
from tests.schedule.random_steps import MAX_INSTANCES, RandomSteps, instances
from tuner.errors import ScheduleError
from tuner.ir.show import show
from tuner.schedule.access import accesses
from tuner.schedule.apply import apply
from tuner.schedule.dependence import meeting, nested
from tuner.schedule.steps import step_text

#: Every function that may refuse a step for a dependence.
CHECKS = (
    "check_order", "check_lanes", "check_moved_ahead", "check_read_first", "check_parallel",
    "_check_overwrites", "_check_final", "check_unchanged", "_check_order", "_check_free",
    "_check_body_writes", "_check_inputs",
)  # fmt: skip


def _unchecked(program, step):
    """`program` after `step` as if no check of dependences were there; None where the step makes no
    sense there."""
    with pytest.MonkeyPatch.context() as patch:
        for name, module in list(sys.modules.items()):
            if name.startswith("tuner.schedule."):
                for check in CHECKS:
                    patch.setattr(module, check, lambda *_: None, raising=False)
        try:
            return apply(program, (step,))
        except ScheduleError:
            return None


class _Judge:
    """Takes steps one by one, and compares each program with the one before it."""

    def __init__(self, program):
        self.program, self._terms = program, Terms()
        self._before = run(program, self._terms)

    def verdict(self, step):
        """What became of a step: "legal", "refused" or "too strict"; None where it does not apply.
        A legal one is taken."""
        try:
            new, refusal = apply(self.program, (step,)), None
        except ScheduleError as error:
            new, refusal = _unchecked(self.program, step), error.message
        if new is None or instances(new.body) > MAX_INSTANCES:
            return None
        after = run(new, self._terms)
        keeps = (
            same_terms(new, self._before, after)
            and not turned_around(self._before, after)
            and not after.races
        )
        if refusal is None:
            assert keeps, f"{step_text(step)}\n{show(self.program)}"
            self.program, self._before = new, after
            return "legal"
        assert "no answer within" not in refusal, (step_text(step), refusal, show(self.program))
        return "too strict" if keeps else "refused"


def _uniform(rng, steps, program):
    """A step of a primitive chosen with equal chances, on what `tagged` did not add."""
    drawn = [steps.step(program) for _ in range(60)]
    each = {type(s): s for s in drawn if TAG not in step_text(s)}
    return rng.choice(list(each.values()))


def _random(seed):
    return (random_program if seed % 2 else random_recurrence)(random.Random(seed))


def test_no_legal_step_turns_a_dependence_around_and_few_are_refused():
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for seed in range(40):
        rng = random.Random(seed)
        judge, steps = _Judge(tagged(_random(seed))), RandomSteps(rng)
        for _ in range(16):
            step = _uniform(rng, steps, judge.program)
            verdict = judge.verdict(step)
            if verdict is not None:
                table[type(step).__name__][verdict] += 1
    for name, counts in sorted(table.items()):
        print(f"{name:22}", *(f"{v} {counts[v]:4}" for v in ("legal", "refused", "too strict")))
    total = sum(table.values(), Counter())
    print(f"{'all':22}", dict(total))
    assert total["refused"] > 10
    assert total["too strict"] < 0.05 * (total["legal"] + total["too strict"])


@pytest.mark.parametrize("block", range(4))
def test_isl_finds_what_enumeration_finds(block):
    met = apart = 0
    for seed in range(block * 15, block * 15 + 15):
        found = accesses(_random(seed).body)
        for first, second in product(found, repeat=2):
            if first.buffer != second.buffer or not (first.writes or second.writes):
                continue
            shared = [a.var for a, b in zip(first.loops, second.loops, strict=False) if a is b]
            sizes = [len(_iterations(a)) for a in (first, second)]
            if sizes[0] * sizes[1] > 1500:
                continue
            pair = meeting(first, second, [nested(shared, "<")], {}, ())
            there = _enumerated(first, second, shared)
            assert (pair is not None) == bool(there)
            if pair is not None:
                assert (pair.first_at, pair.second_at) in there
            met, apart = met + (pair is not None), apart + (pair is None)
    assert met > 25
    assert apart > 25


def _iterations(access):
    """The values of the loops around `access` for which it is made."""
    names = [loop.var for loop in access.loops]
    every = product(*(range(loop.extent) for loop in access.loops))
    values = [dict(zip(names, value, strict=True)) for value in every]
    return [v for v in values if all(integer(c, v) for c in (*access.guards, *access.taken))]


def _enumerated(first, second, shared):
    """Every pair of iterations in which both touch one element, the first in an earlier one of the
    `shared` loops."""
    return [
        (a, b)
        for a in _iterations(first)
        for b in _iterations(second)
        if [a[n] for n in shared] < [b[n] for n in shared]
        and all(
            integer(i, a) == integer(j, b)
            for i, j in zip(first.indices, second.indices, strict=True)
        )
    ]
