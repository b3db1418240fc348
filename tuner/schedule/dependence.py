"""Exact dependences: whether two accesses meet in instances that stand in a given order.

An access is a map from the iterations of its loops to elements, defined where its guards hold. For
two accesses, one set holds every pair of iterations that touch the same element, and isl (islpy)
says whether any of them stands in the order that a change would turn around. What is not affine, an
indirect subscript or a test of data, may have any value: then the answer errs towards a meeting.

The sets are small but the question is hard in general, so isl counts its operations and gives up at
a limit. The cheap rule of `legality` settles nearly everything; this is asked for the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import islpy

from tuner.ir.affine import Linear, Ranges, is_index_comparison, linear, simplify_index
from tuner.ir.nodes import Call, Const, Expr, Var
from tuner.ir.show import show_expr
from tuner.ir.visit import substitute_expr, variables
from tuner.schedule.access import Access

#: isl's operations for one set. They are counted coarsely: most sets take milliseconds, the hardest
#: seen half a second; five times as many took 11 seconds.
MAX_OPERATIONS = 20_000

#: How the first instance's iterations stand to the second's, loop by loop: (loop, "<" | "=" | ">").
Comparisons = tuple[tuple[str, str], ...]
#: Alternatives.
Order = tuple[Comparisons, ...]

_COMPARED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=", "ne": "!="}
_NEGATED = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
_DONE = {"read": "read", "assign": "written"}


class TooHard(Exception):
    """isl reached MAX_OPERATIONS before it had an answer."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two instances that touch one element: each access with the values of the loops around it."""

    first: Access
    first_at: dict[str, int]
    second: Access
    second_at: dict[str, int]

    def text(self) -> str:
        """What happens, in the program's order: 'y[1] is written at i=0 and then read at i=1'."""
        first = happening(self.first, self.first_at)
        return f"{first} and then {_done(self.second, self.second_at)}"


def happening(access: Access, at: Mapping[str, int]) -> str:
    """What one instance of `access` does: 'y[1] is written at i=0'."""
    element = [_value(i, at) for i in access.indices]
    return f"{access.buffer}[{', '.join(element)}] is {_done(access, at)}"


def _value(index: Expr, at: Mapping[str, int]) -> str:
    known: dict[str, Expr] = {name: Const(value) for name, value in at.items()}
    return show_expr(simplify_index(substitute_expr(index, known), {}))


def _done(access: Access, at: Mapping[str, int]) -> str:
    where = ", ".join(f"{name}={value}" for name, value in at.items())
    return f"{_DONE.get(access.mode, 'accumulated')} at {where}"


def nested(names: Sequence[str], sign: str) -> Order:
    """The first instance comes before ("<") or after (">") the second in loops `names`, outermost
    first."""
    return tuple(
        (*((outer, "=") for outer in names[:n]), (name, sign)) for n, name in enumerate(names)
    )


def meeting(
    first: Access, second: Access, orders: Iterable[Order], ranges: Ranges, guards: Sequence[Expr]
) -> Pair | None:
    """A pair of instances that touch the same element while all `orders` hold; None if there is
    none. Loops that stand around both accesses' own ones are the same for both; `guards` hold
    there. Raises TooHard at the limit.
    """
    question = Question(first, second, ranges)
    for guard in guards:
        question.require(condition(guard, True, question.outer))
    found = _smallest(question.texts(orders), len(question.names()))
    if found is None:
        return None
    values = dict(zip(question.names(), found, strict=True))
    at = [
        {name: values[known] for name, known in side.known.items()}
        for side in (question.first, question.second)
    ]
    return Pair(first, at[0], second, at[1])


def _smallest(texts: Iterable[str], size: int) -> tuple[int, ...] | None:
    """The first element of the first set of integer tuples that has any; None if none has."""
    context = islpy.Context()
    context.set_max_operations(MAX_OPERATIONS)
    try:
        for text in texts:
            context.reset_operations()
            pairs = islpy.Set.read_from_str(context, text)
            if not pairs.is_empty():
                point = pairs.lexmin().sample_point()
                # Printing a number counts as well, and fails without an islpy.Error.
                context.reset_operations()
                kind = islpy.dim_type.set
                return tuple(point.get_coordinate_val(kind, n).to_python() for n in range(size))
    except islpy.Error as error:
        raise TooHard(f"no answer within {MAX_OPERATIONS} operations") from error
    return None


class _Side:
    """isl's names for the loops around one access, and for values that nothing is known of."""

    def __init__(self, known: dict[str, str], unknown: list[str]) -> None:
        self.known, self._unknown = known, unknown

    def anything(self) -> str:
        """The name of a new value that may be any integer."""
        self._unknown.append(f"u{len(self._unknown)}")
        return self._unknown[-1]


class Question:
    """The set of pairs of instances of two accesses, constraint by constraint."""

    def __init__(self, first: Access, second: Access, ranges: Ranges) -> None:
        #: values that nothing is known of
        self.unknown: list[str] = []
        self._constraints: list[str] = []
        #: loops of one iteration
        self._still = {loop.var for loop in first.loops if loop.extent == 1}
        own = {loop.var for access in (first, second) for loop in access.loops}
        outer = {name: f"o{n}" for n, name in enumerate(n for n in ranges if n not in own)}
        used = {
            name
            for access in (first, second)
            for expr in (*access.indices, *access.guards, *access.taken)
            for name in variables(expr)
        }
        self.outer = _Side(outer, self.unknown)
        for name, known in outer.items():
            self._within(known, ranges[name])
        self.first = self._side("a", first, used)
        self.second = self._side("b", second, used)
        for i, j in zip(first.indices, second.indices, strict=True):
            self.require(f"{_affine(linear(i), self.first)} = {_affine(linear(j), self.second)}")

    def _side(self, letter: str, access: Access, used: set[str]) -> _Side:
        shown = {name: known for name, known in self.outer.known.items() if name in used}
        own = {loop.var: f"{letter}{n}" for n, loop in enumerate(access.loops)}
        side = _Side({**shown, **own}, self.unknown)
        for loop in access.loops:
            self._within(own[loop.var], loop.extent)
        for cond in (*access.guards, *access.taken):
            self.require(condition(cond, True, side))
        return side

    def _within(self, known: str, extent: int) -> None:
        self.require(f"0 <= {known} < {extent}")

    def require(self, constraint: str | None) -> None:
        """Keeps only the pairs for which `constraint` holds; None holds for all."""
        if constraint is not None:
            self._constraints.append(constraint)

    def names(self) -> list[str]:
        """isl's names of all loops, those around both accesses first."""
        sides = (self.outer, self.first, self.second)
        return list(dict.fromkeys(name for side in sides for name in side.known.values()))

    def texts(self, orders: Iterable[Order]) -> Iterator[str]:
        """The pairs that stand in all `orders`, one set as isl reads it for each way to do so."""
        some = f"exists {', '.join(self.unknown)} : " if self.unknown else ""
        for options in product(*orders):
            signs = {comparison for option in options for comparison in option}
            contradict = len({name for name, _ in signs}) < len(signs)
            if contradict or any(s != "=" and n in self._still for n, s in signs):
                continue
            compared = [f"{self.first.known[n]} {s} {self.second.known[n]}" for n, s in signs]
            holds = [f"({c})" for c in (*self._constraints, *sorted(compared))]
            yield f"{{ [{', '.join(self.names())}] : {some}{' and '.join(holds)} }}"


def _affine(form: Linear, side: _Side) -> str:
    """A linear form as isl writes it."""
    terms = [f"{c}*{_atom(atom, side)}" for atom, c in form.terms.items()]
    return "(" + " + ".join([*terms, str(form.const)]) + ")"


def _atom(atom: Expr, side: _Side) -> str:
    match atom:
        case Var(name) if name in side.known:
            return side.known[name]
        case Call(op="floordiv", args=(a, Const(value=d))) if d > 0:
            return f"floor({_affine(linear(a), side)}/{d})"
        case Call(op="mod", args=(a, Const(value=d))) if d > 0:
            return f"({_affine(linear(a), side)} mod {d})"
        case Call(op="min" | "max" as op, args=(a, b)):
            return f"{op}({_affine(linear(a), side)}, {_affine(linear(b), side)})"
    return side.anything()


def is_exact(cond: Expr) -> bool:
    """Whether `condition` leaves out nothing of `cond`, but for values that may be anything."""
    match cond:
        case Const():
            return True
        case Call(op="and" | "or" | "not", args=args):
            return all(is_exact(arg) for arg in args)
        case Call(op=op):
            return op in _COMPARED and is_index_comparison(cond)
    return False


def condition(cond: Expr, truth: bool, side: _Side) -> str | None:
    """Where `cond` has the value `truth`, or may have it; None if nothing is known."""
    match cond:
        case Const(value=value):
            return None if bool(value) == truth else "false"
        case Call(op="not", args=(inner,)):
            return condition(inner, not truth, side)
        case Call(op="and" | "or" as op, args=(a, b)):
            parts = [condition(part, truth, side) for part in (a, b)]
            known = [f"({part})" for part in parts if part is not None]
            if (op == "and") == truth:
                return " and ".join(known) or None
            return " or ".join(known) if len(known) == 2 else None
        case Call(op=op, args=(a, b)) if op in _COMPARED and is_index_comparison(cond):
            sign = _COMPARED[op if truth else _NEGATED[op]]
            return f"{_affine(linear(a), side)} {sign} {_affine(linear(b), side)}"
    return None
