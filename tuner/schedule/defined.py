"""Whether what is used of a buffer was assigned before, instance by instance.

The instances of a use, less those for which some assignment has written the same element earlier:
what isl finds left is a use that comes short. Where an assignment depends on something that is not
affine, it counts as if it did not happen.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy

from tuner.errors import ScheduleError
from tuner.ir.affine import Ranges
from tuner.ir.nodes import Expr
from tuner.ir.visit import variables
from tuner.schedule.access import Access
from tuner.schedule.dependence import (
    MAX_OPERATIONS,
    Question,
    TooHard,
    condition,
    happening,
    is_exact,
)
from tuner.schedule.witness import program_order, still


def check_defined(
    found: Sequence[Access], ranges: Ranges, guards: Sequence[Expr], why: str
) -> None:
    """Raises ScheduleError unless each element that `found`, accesses of one buffer, read or
    accumulate into was assigned before, with all loops around them standing still. `guards` hold
    there; the message says `why` it matters."""
    starts = [a for a in found if a.mode == "assign"]
    for use in found:
        if use.mode == "assign":
            continue
        try:
            at = undefined(use, starts, ranges, guards)
        except TooHard as error:
            raise ScheduleError(f"{use.text()} {why}; the exact analysis found {error}") from error
        if at is not None:
            shown = f"; for example, {happening(use, at)} and not assigned before"
            raise ScheduleError(f"{use.text()} {why}{shown}")


def undefined(
    use: Access, starts: Sequence[Access], ranges: Ranges, guards: Sequence[Expr]
) -> dict[str, int] | None:
    """Values of the loops for which `use` touches what no instance of `starts` has assigned before;
    None if there are none. Raises TooHard at isl's limit."""
    around = _around((use, *starts), guards)
    ranges = {name: extent for name, extent in ranges.items() if name in around}
    context = islpy.Context()
    context.set_max_operations(MAX_OPERATIONS)
    try:
        whole, names = _instances(context, use, ranges, guards)
        for start in starts:
            for written in _written(context, start, use, ranges):
                context.reset_operations()
                whole = whole.subtract(written)
        context.reset_operations()
        if whole.is_empty():
            return None
        point = whole.lexmin().sample_point()
        context.reset_operations()
        kind = islpy.dim_type.set
        values = [point.get_coordinate_val(kind, n).to_python() for n in range(len(names))]
    except islpy.Error as error:
        raise TooHard(f"no answer within {MAX_OPERATIONS} operations") from error
    return dict(zip(names, values, strict=True))


def _around(found: Sequence[Access], guards: Sequence[Expr]) -> set[str]:
    """The loops that subscripts and guards name, but those of `found` themselves."""
    exprs = [e for a in found for e in (*a.indices, *a.guards, *a.taken)]
    names = {name for expr in (*exprs, *guards) for name in variables(expr)}
    return names - {loop.var for a in found for loop in a.loops}


def _instances(
    context: islpy.Context, use: Access, ranges: Ranges, guards: Sequence[Expr]
) -> tuple[islpy.Set, list[str]]:
    """All iterations of the loops around `use` in which it is made, and the loops' names."""
    question = Question(use, use, ranges)
    for guard in guards:
        question.require(condition(guard, True, question.outer))
    (text,) = question.texts([still(loop.var for loop in use.loops if loop.extent > 1)])
    names = [*question.outer.known, *(loop.var for loop in use.loops)]
    return _of_second(islpy.Set.read_from_str(context, text), question), names


def _written(context: islpy.Context, start: Access, use: Access, ranges: Ranges) -> list[islpy.Set]:
    """The iterations of `use` that touch what `start` has written before."""
    question = Question(start, use, ranges)
    if question.unknown or not all(map(is_exact, start.guards)):
        return []
    sets = []
    for text in question.texts(program_order(start, use)):
        context.reset_operations()
        sets.append(_of_second(islpy.Set.read_from_str(context, text), question))
    return sets


def _of_second(pairs: islpy.Set, question: Question) -> islpy.Set:
    """The second instances of `pairs`, and what stands around both."""
    outer = len(question.outer.known)
    first = [name for name in question.first.known.values() if name.startswith("a")]
    return pairs.project_out(islpy.dim_type.set, outer, len(first))
