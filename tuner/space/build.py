"""From a program to its space: every rule is asked about every nest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import product

from tuner.errors import EmptySpaceError, ScheduleError
from tuner.ir.nodes import Program
from tuner.schedule.apply import apply
from tuner.space.knobs import columns
from tuner.space.rules import (
    accumulation,
    contraction,
    gpu_contraction,
    gpu_independent,
    rowwise,
    transposed,
)
from tuner.space.space import Part, Sketch, Space
from tuner.target import Target

#: A part with the top-level statements that it schedules.
Offer = tuple[Part, frozenset[int]]
Rule = Callable[[Program, int, Target], list[Offer]]

#: In the order of preference: a nest gets the offers of the first rule that has any.
RULES: tuple[Rule, ...] = (
    contraction.parts, accumulation.parts, transposed.parts, rowwise.parts,
)  # fmt: skip
#: Likewise for targets with blocks.
BLOCK_RULES: tuple[Rule, ...] = (gpu_contraction.parts, gpu_independent.parts)
#: Most combinations of offers: of a nest with many, the last are dropped first.
MAX_SKETCHES = 64


def space_of(program: Program, target: Target) -> Space:
    """The space of a canonical program on a target. Raises EmptySpaceError, naming the constraint,
    if no schedule is legal."""
    offers = [_offers(program, nest, target) for nest in range(len(program.body))]
    while math.prod(len(found) for found in offers if found) > MAX_SKETCHES:
        max(offers, key=len).pop()
    sketches: list[list[Part]] = []
    for chosen in product(*(found for found in offers if found)):
        parts = _compatible(chosen)
        if parts is not None and parts not in sketches:
            sketches.append(parts)
    return Space([Sketch(parts) for parts in sketches])


def _offers(program: Program, nest: int, target: Target) -> list[Offer]:
    for rule in BLOCK_RULES if target.has_blocks else RULES:
        found = [offer for offer in rule(program, nest, target) if _legal(program, offer[0])]
        if found:
            return found
    return []


def _legal(program: Program, part: Part) -> bool:
    """Whether a point of the part applies: rules look at accesses, the primitives at dependences.
    A part without points is kept, so that the space can say why it is empty."""
    try:
        columns_of = columns(part.knobs, part.points[:1])
        values = {name: int(column[0]) for name, column in columns_of.items()}
        apply(program, (*part.packs(values), *part.steps(values)))
    except EmptySpaceError:
        return True
    except ScheduleError:
        return False
    return True


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
