"""Questions about expressions that lowering and code generation share."""

from __future__ import annotations

from collections.abc import Callable

from tuner.dtypes import promote
from tuner.ir.nodes import (
    Broadcast,
    Call,
    Cast,
    Const,
    Expr,
    Load,
    Ramp,
    Reduce,
    Select,
    Shuffle,
    Var,
)
from tuner.ir.visit import expr_children, map_children

_LEAVES = (Const, Var)
_LANES = (Ramp, Broadcast, Shuffle)
_NO_INDEX = (Load, Cast, Ramp, Broadcast, Reduce, Shuffle)


def lanes(expr: Expr) -> int:
    """Lanes of the value of `expr`; 1 for a scalar."""
    stack = [expr]
    while stack:
        node = stack.pop()
        if type(node) is Call:
            stack += node.args
        elif isinstance(node, _LANES):
            return node.lanes
        elif type(node) not in _LEAVES and type(node) is not Reduce:
            stack += expr_children(node)
    return 1


class Loads:
    """The loads of expressions, in the order of their evaluation. Passes spend most of their time
    here: no expression, and no subscript that copies of code share, is looked at twice."""

    def __init__(self, selected: bool = True) -> None:
        """Without `selected` only the loads that no selection may skip."""
        self._selected = selected
        #: by identity; the expression is kept so that its identity is not given to another
        self._known: dict[int, tuple[Expr, list[Load]]] = {}
        self._direct: dict[int, Load] = {}

    def of(self, expr: Expr) -> list[Load]:
        """The loads below `expr`; those of a subscript stand before the load that uses it."""
        found = self._known.get(id(expr))
        if found is None:
            found = self._known[id(expr)] = (expr, self._below(expr))
        return found[1]

    def _below(self, expr: Expr) -> list[Load]:
        found: list[Load] = []
        stack = [expr]
        while stack:
            node = stack.pop()
            if type(node) is Call:
                stack += node.args
            elif type(node) is Load:
                found.append(node)
                if id(node) not in self._direct:
                    stack += self._indirect(node)
            elif type(node) not in _LEAVES and (self._selected or type(node) is not Select):
                stack += expr_children(node)
        found.reverse()
        return found

    def _indirect(self, load: Load) -> tuple[Expr, ...]:
        """The subscripts of `load`, unless they hold no loads."""
        if not all(map(index_only, load.indices)):
            return load.indices
        self._direct[id(load)] = load
        return ()


def map_loads(fn: Callable[[Load], Expr]) -> Callable[[Expr], Expr]:
    """A function that applies `fn` to the loads in an expression, inner ones first. What
    expressions share stays shared. Valid as long as the expressions are held."""
    known: dict[int, Expr] = {}

    def mapped(expr: Expr) -> Expr:
        if type(expr) in _LEAVES:
            return expr
        found = known.get(id(expr))
        if found is None:
            found = map_children(expr, mapped)
            found = known[id(expr)] = fn(found) if isinstance(found, Load) else found
        return found

    return mapped


def index_only(expr: Expr) -> bool:
    """Whether `expr` is arithmetic on loop variables and literals alone."""
    stack = [expr]
    while stack:
        node = stack.pop()
        if type(node) is Call:
            stack += node.args
        elif isinstance(node, _NO_INDEX):
            return False
        else:
            stack += expr_children(node)
    return True


def computes_from_ramp(expr: Expr) -> bool:
    """Whether the value of `expr` is computed from a loop variable's lanes as numbers, other
    than as a subscript."""
    match expr:
        case Ramp():
            return True
        case Call(args=args):
            return any(computes_from_ramp(a) for a in args)
        case Select():
            return expr.dtype.is_integer and any(map(computes_from_ramp, expr_children(expr)))
    return False


def mask_bits(cond: Expr) -> int:
    """Bits of a lane of the mask that `cond` gives; 0 where there is none, or where masks of two
    widths would mix."""
    match cond:
        case Call("and" | "or", (a, b)):
            return mask_bits(a) if mask_bits(a) == mask_bits(b) else 0
        case Call("not", (a,)):
            return mask_bits(a)
        case Call("lt" | "le" | "gt" | "ge" | "eq" | "ne", (a, b)):
            return promote(a.dtype, b.dtype).bits
    return 0


def split_offset(index: Expr) -> tuple[Expr | None, int]:
    """A subscript in normal form as what loops move and what is constant."""
    match index:
        case Const(value=value):
            return None, int(value)
        case Call("add", (rest, Const(value=value))):
            return rest, int(value)
        case Call("sub", (rest, Const(value=value))):
            return rest, -int(value)
    return index, 0


def lane(expr: Expr, number: int) -> Expr:
    """The scalar expression for one lane of `expr`."""
    match expr:
        case Ramp(base, stride, _):
            return _offset(base, stride * number)
        case Broadcast(arg, _):
            return arg
        case Const() | Var() | Reduce():
            return expr
        case Load(buffer, (index,), dtype):
            return Load(buffer, (lane(index, number),), dtype)
        case Call(op, args, dtype):
            return Call(op, tuple(lane(a, number) for a in args), dtype)
        case Select(cond, then, other):
            return Select(lane(cond, number), lane(then, number), lane(other, number))
        case Cast(dtype, arg):
            return Cast(dtype, lane(arg, number))
        case Shuffle(first, second, picks):
            side, place = divmod(picks[number], lanes(first))
            return lane(second if side else first, place)
    return expr


def _offset(base: Expr, offset: int) -> Expr:
    match base:
        case Const(value=value):
            return Const(int(value) + offset)
        case Call("add", (rest, Const(value=value)), dtype):
            return Call("add", (rest, Const(int(value) + offset)), dtype)
    return base if offset == 0 else Call("add", (base, Const(offset)), base.dtype)
