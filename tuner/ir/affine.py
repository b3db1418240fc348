"""Quasi-affine integer expressions: linear form, interval bounds, simplification.

A linear form is const + sum of coefficient * atom, where an atom is a loop variable or an
expression that is not linear (a floor division, a modulo, an indirect read).
`ranges` gives each loop variable's extent: it runs over 0 … extent - 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tuner.dtypes import BOOL, INDEX
from tuner.ir.nodes import TRUE, Call, Const, Expr, Load, Select, Var
from tuner.ir.visit import map_expr, walk_exprs

Ranges = Mapping[str, int]
INFINITE = 1 << 62


@dataclass(frozen=True, slots=True)
class Linear:
    """const + sum of terms[atom] * atom; no coefficient is zero."""

    terms: dict[Expr, int]
    const: int = 0

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """self + factor * other."""
        const = self.const + factor * other.const
        if not other.terms:
            return Linear(self.terms, const)
        terms = dict(self.terms)
        for atom, coefficient in other.terms.items():
            _add(terms, atom, factor * coefficient)
        return Linear(terms, const)

    def times(self, factor: int) -> Linear:
        """factor * self."""
        if factor == 0:
            return Linear({})
        return Linear({a: c * factor for a, c in self.terms.items()}, self.const * factor)

    def coefficient(self, name: str) -> int:
        """Coefficient of the loop variable `name`; 0 where it is absent."""
        return self.terms.get(Var(name), 0)

    def expr(self) -> Expr:
        """The expression in normal form: positive terms first, the constant last."""
        out: Expr | None = None
        for atom, c in sorted(self.terms.items(), key=lambda t: t[1] < 0):
            size = abs(c)
            term = atom if size == 1 else Call("mul", (atom, Const(size)), INDEX)
            if out is None:
                out = term if c > 0 else Call("mul", (atom, Const(c)), INDEX)
            else:
                out = Call("add" if c > 0 else "sub", (out, term), INDEX)
        if out is None:
            return Const(self.const)
        if self.const:
            op = "add" if self.const > 0 else "sub"
            out = Call(op, (out, Const(abs(self.const))), INDEX)
        return out


def linear(expr: Expr) -> Linear:
    """The linear form of an integer expression; what is not linear becomes an atom."""
    terms: dict[Expr, int] = {}
    return Linear(terms, _collect(expr, 1, terms))


def _collect(expr: Expr, factor: int, terms: dict[Expr, int]) -> int:
    """Adds factor * expr to `terms`; its constant part is returned."""
    if isinstance(expr, Const):
        return factor * int(expr.value)
    if isinstance(expr, Call):
        op, args = expr.op, expr.args
        if op in ("add", "sub"):
            second = factor if op == "add" else -factor
            return _collect(args[0], factor, terms) + _collect(args[1], second, terms)
        if op == "neg":
            return _collect(args[0], -factor, terms)
        if op == "mul":
            if isinstance(args[1], Const):
                return _collect(args[0], factor * int(args[1].value), terms)
            left, right = linear(args[0]), linear(args[1])
            if not (left.terms and right.terms):
                product = left.times(right.const) if left.terms else right.times(left.const)
                for atom, coefficient in product.terms.items():
                    _add(terms, atom, factor * coefficient)
                return factor * product.const
    _add(terms, expr, factor)
    return 0


def _add(terms: dict[Expr, int], atom: Expr, coefficient: int) -> None:
    if total := terms.get(atom, 0) + coefficient:
        terms[atom] = total
    else:
        terms.pop(atom, None)


def bounds(expr: Expr, ranges: Ranges) -> tuple[int, int]:
    """Smallest and largest value of `expr`, both inclusive; an over-approximation for min, max,
    floor division and modulo of correlated operands. Loads are unbounded."""
    return linear_bounds(linear(expr), ranges)


def linear_bounds(form: Linear, ranges: Ranges) -> tuple[int, int]:
    """As `bounds`, of a linear form."""
    low = high = form.const
    for atom, c in form.terms.items():
        a, b = _atom_bounds(atom, ranges)
        low += c * (a if c > 0 else b)
        high += c * (b if c > 0 else a)
    return low, high


def _atom_bounds(atom: Expr, ranges: Ranges) -> tuple[int, int]:
    match atom:
        case Var(name):
            return 0, ranges[name] - 1
        case Call(op="floordiv", args=(a, Const(value=d))) if d > 0:
            low, high = bounds(a, ranges)
            return low // int(d), high // int(d)
        case Call(op="mod", args=(a, Const(value=d))) if d > 0:
            low, high = bounds(a, ranges)
            return (low, high) if low >= 0 and high < d else (0, int(d) - 1)
        case Call(op="min" | "max", args=(a, b)):
            (al, ah), (bl, bh) = bounds(a, ranges), bounds(b, ranges)
            pick = min if atom.op == "min" else max
            return pick(al, bl), pick(ah, bh)
        case Select(_, a, b):
            (al, ah), (bl, bh) = bounds(a, ranges), bounds(b, ranges)
            return min(al, bl), max(ah, bh)
    return -INFINITE, INFINITE


def simplify_index(expr: Expr, ranges: Ranges) -> Expr:
    """`expr` in normal form, with divisions and modulos removed where the ranges allow it."""
    return simplify_linear(linear(expr), ranges).expr()


def simplify_linear(form: Linear, ranges: Ranges) -> Linear:
    """`form` with every floor division and modulo among its atoms taken apart."""
    out = Linear({}, form.const)
    for atom, c in form.terms.items():
        match atom:
            case Var(name):
                known = Linear({}) if ranges.get(name) == 1 else Linear({atom: 1})
            case Call(op="floordiv", args=(a, Const(value=d))) if d > 0:
                known = _floordiv(simplify_linear(linear(a), ranges), int(d), ranges)
            case Call(op="mod", args=(a, Const(value=d))) if d > 0:
                known = _mod(simplify_linear(linear(a), ranges), int(d), ranges)
            case Load():
                indices = tuple(simplify_index(i, ranges) for i in atom.indices)
                known = Linear({Load(atom.buffer, indices, atom.dtype): 1})
            case Call():
                args = tuple(simplify_index(a, ranges) for a in atom.args)
                known = Linear({Call(atom.op, args, atom.dtype): 1})
            case _:
                known = Linear({atom: 1})
        out = out.plus(known, c)
    return _join_div_mod(out)


def _divide(form: Linear, divisor: int) -> tuple[Linear, Linear]:
    """Quotient and remainder forms with form = divisor * quotient + remainder."""
    whole = {a: c // divisor for a, c in form.terms.items() if c % divisor == 0}
    rest = {a: c for a, c in form.terms.items() if c % divisor}
    return Linear(whole, form.const // divisor), Linear(rest, form.const % divisor)


def _floordiv(form: Linear, divisor: int, ranges: Ranges) -> Linear:
    quotient, rest = _divide(form, divisor)
    low, high = linear_bounds(rest, ranges)
    if low // divisor == high // divisor:
        return Linear(quotient.terms, quotient.const + low // divisor)
    match rest.expr():
        case Call(op="floordiv", args=(a, Const(value=d))):
            atom: Expr = Call("floordiv", (a, Const(int(d) * divisor)), INDEX)
        case inner:
            atom = Call("floordiv", (inner, Const(divisor)), INDEX)
    return quotient.plus(Linear({atom: 1}))


def _mod(form: Linear, divisor: int, ranges: Ranges) -> Linear:
    _, rest = _divide(form, divisor)
    low, high = linear_bounds(rest, ranges)
    if low // divisor == high // divisor:
        return Linear(rest.terms, rest.const - low // divisor * divisor)
    return Linear({Call("mod", (rest.expr(), Const(divisor)), INDEX): 1})


def _join_div_mod(form: Linear) -> Linear:
    """c*d*(x // d) + c*(x % d) = c*x, also where x is y // e and so x // d is y // (d*e)."""
    for atom, c in form.terms.items():
        if isinstance(atom, Call) and atom.op == "mod":
            x, d = atom.args[0], int(atom.args[1].value)  # type: ignore[union-attr]
            y, e = x.args if isinstance(x, Call) and x.op == "floordiv" else (x, Const(1))
            quotient = Call("floordiv", (y, Const(d * e.value)), INDEX)  # type: ignore[union-attr]
            if form.terms.get(quotient) == c * d:
                rest = {a: k for a, k in form.terms.items() if a not in (atom, quotient)}
                return _join_div_mod(Linear(rest, form.const).plus(linear(x), c))
    return form


def simplify_cond(cond: Expr, ranges: Ranges) -> Expr:
    """A condition with its integer comparisons decided where the ranges allow it."""

    def step(expr: Expr) -> Expr:
        match expr:
            case Call(op="and", args=(a, b)):
                return logical_and(a, b)
            case Call(op="or", args=(a, b)):
                if isinstance(a, Const):
                    return a if a.value else b
                if isinstance(b, Const):
                    return b if b.value else a
            case Call(op="not", args=(Const(value=v),)):
                return Const(not v, BOOL)
            case Call(op="lt" | "le" | "gt" | "ge" | "eq" | "ne") if is_index_comparison(expr):
                return _simplify_comparison(expr, ranges)
        return expr

    return map_expr(cond, step)


def is_index_comparison(expr: Expr) -> bool:
    """Whether `expr` compares two expressions made of loop variables and integer literals only.

    Those stay far from 64 bits (tuner.ir.verify), where data, and what was converted from it, may
    wrap around and so obeys no linear arithmetic: no proof may rest on a test of it.
    """
    return (
        isinstance(expr, Call)
        and len(expr.args) == 2
        and all(
            isinstance(e, Var) or (isinstance(e, Const | Call) and e.dtype == INDEX)
            for arg in expr.args
            for e in walk_exprs(arg)
        )
    )


def _simplify_comparison(expr: Call, ranges: Ranges) -> Expr:
    left, right = (simplify_linear(linear(a), ranges) for a in expr.args)
    low, high = linear_bounds(left.plus(right, -1), ranges)
    decided = {
        "lt": (high < 0, low >= 0), "le": (high <= 0, low > 0),
        "gt": (low > 0, high <= 0), "ge": (low >= 0, high < 0),
        "eq": (low == high == 0, low > 0 or high < 0),
        "ne": (low > 0 or high < 0, low == high == 0),
    }  # fmt: skip
    true, false = decided[expr.op]
    if true or false:
        return Const(true, BOOL)
    return Call(expr.op, (left.expr(), right.expr()), BOOL)


def logical_and(a: Expr, b: Expr) -> Expr:
    """a and b, literals folded."""
    if isinstance(a, Const):
        return b if a.value else a
    if isinstance(b, Const):
        return a if b.value else b
    return Call("and", (a, b), BOOL)


def conjuncts(cond: Expr) -> tuple[Expr, ...]:
    """The parts of a conjunction, in order."""
    if isinstance(cond, Call) and cond.op == "and":
        return conjuncts(cond.args[0]) + conjuncts(cond.args[1])
    return () if cond == TRUE else (cond,)


def all_of(conditions: list[Expr] | tuple[Expr, ...]) -> Expr:
    """The conjunction of `conditions`."""
    out: Expr = TRUE
    for condition in conditions:
        out = logical_and(out, condition)
    return out


def as_nonnegative(cond: Expr) -> Linear | None:
    """The form f where `cond` says f >= 0 over the integers; None for other conditions."""
    if not is_index_comparison(cond):
        return None
    assert isinstance(cond, Call)
    left, right = linear(cond.args[0]), linear(cond.args[1])
    match cond.op:
        case "lt":
            return right.plus(left, -1).plus(Linear({}, -1))
        case "le":
            return right.plus(left, -1)
        case "gt":
            return left.plus(right, -1).plus(Linear({}, -1))
        case "ge":
            return left.plus(right, -1)
    return None
