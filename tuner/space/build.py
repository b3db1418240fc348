"""From a program to its space: every rule is asked about every nest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

from tuner.ir.nodes import Program
from tuner.space.rules import contraction, rowwise
from tuner.space.space import Part, Sketch, Space
from tuner.target import Target

#: A part with the top-level statements that it schedules.
Offer = tuple[Part, frozenset[int]]
Rule = Callable[[Program, int, Target], list[Offer]]

#: In the order of preference: a nest gets the offers of the first rule that has any.
RULES: tuple[Rule, ...] = (contraction.parts, rowwise.parts)
#: Combinations of offers beyond these are dropped.
MAX_SKETCHES = 64


def space_of(program: Program, target: Target) -> Space:
    """The space of a canonical program on a target. Raises EmptySpaceError, naming the constraint,
    if no schedule is legal."""
    offers = [_offers(program, nest, target) for nest in range(len(program.body))]
    sketches = []
    for chosen in product(*(found for found in offers if found)):
        parts = _compatible(chosen)
        if parts is not None and parts not in sketches:
            sketches.append(parts)
    return Space([Sketch(parts) for parts in sketches[:MAX_SKETCHES]])


def _offers(program: Program, nest: int, target: Target) -> list[Offer]:
    for rule in RULES:
        found = rule(program, nest, target)
        if found:
            return found
    return []


def _compatible(chosen: Iterable[Offer]) -> list[Part] | None:
    """The parts in program order without those of nests that another part schedules as well."""
    parts: list[Part] = []
    taken: set[int] = set()
    for part, nests in chosen:
        if nests <= taken:
            continue
        if nests & taken:
            return None
        taken |= nests
        parts.append(part)
    return parts
