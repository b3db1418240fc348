"""What of a kernel is done in each call: all but what is made of constants alone, once, ahead."""

from __future__ import annotations

from itertools import groupby

from tuner.features.nest import Kernel, Nest
from tuner.lower.split_constants import Effects, done_ahead


def in_each_call(kernel: Kernel) -> Kernel:
    """`kernel` without the nests that tuner.lower.split_constants takes out of a program."""
    statements = [list(nests) for _, nests in groupby(kernel.nests, _outermost)]
    first = done_ahead(
        [_effects(nests) for nests in statements],
        frozenset(name for name, shape in kernel.shapes.items() if shape.constant),
        frozenset(n for n, shape in kernel.shapes.items() if not (shape.given or shape.tile)),
    )
    stays = [nest for at, nests in enumerate(statements) if at not in first for nest in nests]
    return Kernel(tuple(stays), kernel.shapes)


def _outermost(nest: Nest) -> str | int:
    """The same for the nests of one statement at the top of the program."""
    return nest.loops[0].name if nest.loops else id(nest)


def _effects(nests: list[Nest]) -> Effects:
    reads = {read.buffer for nest in nests for read in nest.reads}
    return Effects(
        reads=frozenset(reads.union(*(nest.looked_up for nest in nests))),
        writes=frozenset(nest.write.buffer for nest in nests),
    )
