"""Which iteration of a nest touches a given element: subscripts solved for their loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tuner.dtypes import BOOL, INDEX
from tuner.errors import ScheduleError
from tuner.ir.affine import Linear, Ranges, linear, simplify_cond, simplify_index, simplify_linear
from tuner.ir.nodes import TRUE, Call, Const, Expr, Var
from tuner.ir.show import show_expr
from tuner.ir.visit import substitute_expr, variables
from tuner.schedule.region import inside

#: A subscript and the value that it is to have.
Equation = tuple[Linear, Linear]


@dataclass(slots=True)
class Iteration:
    """The one iteration of some loops in which subscripts have given values."""

    #: of the loops that the subscripts determine
    values: dict[str, Expr] = field(default_factory=dict)
    #: what has to hold for there to be such an iteration
    conds: list[Expr] = field(default_factory=list)


def iteration_of(
    indices: Sequence[Linear], wanted: Sequence[Linear], own: Mapping[str, int], ranges: Ranges
) -> Iteration:
    """The iteration of the loops `own` (with their extents) in which `indices` equal `wanted`.
    All other loops in `indices` stand still. `ranges` knows every loop.

    Raises ScheduleError where the subscripts do not determine one iteration.
    """
    known = Iteration({name: Const(0) for name, extent in own.items() if extent == 1})
    equations = [
        (simplify_linear(index, ranges), want) for index, want in zip(indices, wanted, strict=True)
    ]
    equations = _rejoined(equations, own, known, ranges)
    while equations:
        equations.sort(key=lambda e: len(_unknown(e[0], own)))
        _solve(*equations.pop(0), own, known, ranges)
        equations = [(_with(form, known, ranges), want) for form, want in equations]
    known.conds = [c for c in known.conds if c != TRUE]
    return known


def _unknown(form: Linear, own: Mapping[str, int]) -> set[str]:
    return {name for atom in form.terms for name in variables(atom) if name in own}


def _with(form: Linear, known: Iteration, ranges: Ranges) -> Linear:
    """`form` with what is known put in."""
    return simplify_linear(linear(substitute_expr(form.expr(), known.values)), ranges)


def _parted(form: Linear, own: Mapping[str, int]) -> tuple[Linear, Linear]:
    """The part of `form` that moves with the loops `own`, and the rest."""
    moving = {a: c for a, c in form.terms.items() if not variables(a).isdisjoint(own)}
    still = {a: c for a, c in form.terms.items() if a not in moving}
    return Linear(moving), Linear(still, form.const)


def _rejoined(
    equations: list[Equation], own: Mapping[str, int], known: Iteration, ranges: Ranges
) -> list[Equation]:
    """`e // m == q` together with `e % m == r` is `e == m * q + r`, where 0 <= r < m."""
    for second, want in equations:
        moving, still = _parted(second, own)
        match list(moving.terms.items()):
            case [(Call("mod", (inner, Const(value=m))), 1)]:
                modulus = int(m)
            case _:
                continue
        quotient = simplify_index(Call("floordiv", (inner, Const(modulus)), INDEX), ranges)
        for first, tiles in equations:
            part, rest = _parted(first, own)
            if part.terms == {quotient: 1}:
                remainder = simplify_linear(want.plus(still, -1), ranges)
                known.conds += inside((remainder,), (modulus,), ranges)
                whole = tiles.plus(rest, -1).times(modulus).plus(remainder)
                kept = [e for e in equations if e[0] is not first and e[0] is not second]
                kept.append((linear(inner), simplify_linear(whole, ranges)))
                return _rejoined(kept, own, known, ranges)
    return equations


def _solve(
    form: Linear, want: Linear, own: Mapping[str, int], known: Iteration, ranges: Ranges
) -> None:
    """Adds to `known` what `form == want` says of the loops in it: a number with one digit for
    each loop, whose places are the coefficients."""
    moving, still = _parted(form, own)
    target = simplify_linear(want.plus(still, -1), ranges)
    if not moving.terms:
        equal = Call("eq", (target.expr(), Const(0)), BOOL)
        known.conds.append(simplify_cond(equal, ranges))
        return
    if all(c < 0 for c in moving.terms.values()):
        moving, target = moving.times(-1), target.times(-1)
    digits = sorted(
        (c, atom.name) for atom, c in moving.terms.items() if isinstance(atom, Var) and c > 0
    )
    if len(digits) < len(moving.terms):
        raise _undetermined(form)
    places = [c for c, _ in digits]
    for (place, name), above in zip(digits, [*places[1:], 0], strict=True):
        value = simplify_index(Call("floordiv", (target.expr(), Const(place)), INDEX), ranges)
        if above:
            base = above // place
            if above % place or base < own[name]:
                raise _undetermined(form)
            value = simplify_index(Call("mod", (value, Const(base)), INDEX), ranges)
        known.values[name] = value
        known.conds += inside((linear(value),), (own[name],), ranges)
    if places[0] > 1:
        rest = simplify_index(Call("mod", (target.expr(), Const(places[0])), INDEX), ranges)
        known.conds.append(simplify_cond(Call("eq", (rest, Const(0)), BOOL), ranges))


def _undetermined(form: Linear) -> ScheduleError:
    return ScheduleError(
        f"the subscript {show_expr(form.expr())} does not tell which iteration touches an element: "
        f"expected loops as the digits of a number"
    )
