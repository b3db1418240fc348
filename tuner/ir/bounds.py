"""What the guards around an expression say about its range.

A guard gives facts f >= 0, f a linear form. They bound an expression e in two ways: a fact narrows
the interval of each loop variable in it, and e >= e - m*f, e <= e + m*f for every m >= 0, which
is exact where the fact speaks of the same sum as the expression (`if i*32 + j < 100: x[i*32 + j]`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.ir.affine import (
    INFINITE,
    Linear,
    Ranges,
    as_nonnegative,
    bounds,
    is_index_comparison,
    linear,
    simplify_linear,
)
from tuner.ir.nodes import Call, Const, Expr, Select, Var

Interval = tuple[int, int]
#: What is never reached is inside every buffer.
EMPTY: Interval = (0, -1)

_NEGATED = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
#: Facts combined in one proof; more would only cost time.
_MAX_COMBINED = 4
#: Divisions inside of one another, or led to by facts, that facts are used on.
_MAX_DEPTH = 8


def bounds_under(expr: Expr, ranges: Ranges, guards: Sequence[Expr] = ()) -> Interval:
    """Smallest and largest value of an integer expression, both inclusive, over-approximated.

    `ranges`: extent of every loop variable; `guards`: conditions that hold there. EMPTY where
    they contradict each other. Loads are unbounded.
    """
    return Prover(ranges, guards).bounds(expr)


def facts_of(cond: Expr, truth: bool = True) -> tuple[Linear, ...]:
    """Forms that are >= 0 wherever `cond` has the value `truth`."""
    match cond:
        case Call(op="not", args=(inner,)):
            return facts_of(inner, not truth)
        case Call(op="and" | "or" as op, args=(a, b)):
            if (op == "and") == truth:
                return facts_of(a, truth) + facts_of(b, truth)
            return ()
        case Const(value=value) if bool(value) != truth:
            return (Linear({}, -1),)
        case Call(op=op, args=args) if is_index_comparison(cond) and op in _NEGATED:
            op = op if truth else _NEGATED[op]
            if op == "eq":
                difference = linear(args[0]).plus(linear(args[1]), -1)
                return difference, difference.times(-1)
            form = as_nonnegative(Call(op, args, cond.dtype))
            return () if form is None else (form,)
    return ()


class Prover:
    """Ranges of expressions under one set of guards; remembers what it has found."""

    def __init__(self, ranges: Ranges, guards: Sequence[Expr] = ()) -> None:
        self.ranges, self.guards = ranges, tuple(guards)
        self._facts: list[Linear] = []
        self._intervals: dict[str, Interval] = {}
        self._atoms: dict[Expr, Interval] = {}
        self._depth = 0
        #: None until something is asked
        self._reachable: bool | None = None

    def under(self, guard: Expr) -> Prover:
        """The prover for where `guard` holds as well."""
        return Prover(self.ranges, (*self.guards, guard))

    def bounds(self, expr: Expr) -> Interval:
        """As `bounds_under`."""
        if self._reachable is None:
            self._reachable = self._prepare()
        if not self._reachable:
            return EMPTY
        return self._refined(simplify_linear(linear(expr), self.ranges))

    def _prepare(self) -> bool:
        """Collect the facts; False if they contradict each other."""
        self._intervals = {name: (0, extent - 1) for name, extent in self.ranges.items()}
        facts = [fact for guard in self.guards for fact in facts_of(guard)]
        self._facts = [simplify_linear(fact, self.ranges) for fact in facts]
        if not facts:
            return True
        reachable = self._narrow() and self._narrow()
        # What was found on the way rests on wider intervals than are known now.
        self._atoms.clear()
        return reachable

    def _narrow(self) -> bool:
        """Each variable's interval after every fact; False if no value is left."""
        for fact in self._facts:
            for atom, c in fact.terms.items():
                if not isinstance(atom, Var):
                    continue
                rest = Linear({a: k for a, k in fact.terms.items() if a != atom}, fact.const)
                most = self._interval(rest)[1]
                low, high = self._intervals[atom.name]
                if c > 0:
                    low = max(low, -(most // c))
                else:
                    high = min(high, most // -c)
                self._intervals[atom.name] = (low, high)
                if low > high:
                    return False
            if self._interval(fact)[1] < 0:
                return False
        return True

    def _refined(self, form: Linear) -> Interval:
        low, high = self._interval(form)
        low, high = max(low, -self._upper(form.times(-1))), min(high, self._upper(form))
        for whole, divisor in _divided(form):
            below, above = self._refined(whole)
            low, high = max(low, below // divisor), min(high, above // divisor)
        return low, high

    def _upper(self, form: Linear) -> int:
        """The least upper bound that adding up to _MAX_COMBINED facts to `form` finds."""
        best = self._interval(form)[1]
        for _ in range(_MAX_COMBINED):
            options = [form.plus(f, m) for f in self._facts for m in _cancelling(form, f)]
            bounded = [(self._interval(option)[1], n) for n, option in enumerate(options)]
            least, which = min(bounded, default=(best, 0))
            if least >= best:
                break
            best, form = least, options[which]
        return best

    def _interval(self, form: Linear) -> Interval:
        low = high = form.const
        for atom, c in form.terms.items():
            a, b = self._atom(atom)
            low += c * (a if c > 0 else b)
            high += c * (b if c > 0 else a)
        return low, high

    def _atom(self, atom: Expr) -> Interval:
        if isinstance(atom, Var):
            return self._intervals[atom.name]
        if atom not in self._atoms:
            # Facts may lead from an atom back to itself: there its plain interval is taken.
            self._atoms[atom] = bounds(atom, self.ranges)
            if self._depth < _MAX_DEPTH:
                self._depth += 1
                self._atoms[atom] = self._compound(atom)
                self._depth -= 1
        return self._atoms[atom]

    def _compound(self, atom: Expr) -> Interval:
        match atom:
            case Call(op="floordiv", args=(a, Const(value=d))) if d > 0:
                low, high = self._refined(linear(a))
                return low // int(d), high // int(d)
            case Call(op="mod", args=(a, Const(value=d))) if d > 0:
                low, high = self._refined(linear(a))
                if low // int(d) == high // int(d):
                    return low % int(d), high % int(d)
                return 0, int(d) - 1
            case Call(op="min" | "max" as op, args=(a, b)):
                (al, ah), (bl, bh) = self._refined(linear(a)), self._refined(linear(b))
                pick = min if op == "min" else max
                return pick(al, bl), pick(ah, bh)
            case Select(_, a, b):
                (al, ah), (bl, bh) = self._refined(linear(a)), self._refined(linear(b))
                return min(al, bl), max(ah, bh)
        return -INFINITE, INFINITE


def _divided(form: Linear) -> Iterator[tuple[Linear, int]]:
    """Each (f, d) with which `form` is f // d: facts may speak of such a sum as a whole."""
    for atom, c in form.terms.items():
        match atom:
            case Call(op="floordiv", args=(a, Const(value=d))) if c == 1 and d > 0:
                rest = Linear({b: k for b, k in form.terms.items() if b != atom}, form.const)
                if rest.terms:
                    yield linear(a).plus(rest, int(d)), int(d)


def _cancelling(form: Linear, fact: Linear) -> set[int]:
    """Positive factors m with which form + m * fact loses one of its terms."""
    factors = set()
    for atom, c in fact.terms.items():
        k = form.terms.get(atom, 0)
        if k and k % c == 0 and -k // c > 0:
            factors.add(-k // c)
    return factors
