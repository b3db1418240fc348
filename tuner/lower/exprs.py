"""Questions about expressions that lowering and code generation share."""

from __future__ import annotations

from collections.abc import Callable

from tuner.ir.nodes import Broadcast, Call, Cast, Const, Expr, Load, Ramp, Reduce, Select, Var
from tuner.ir.visit import expr_children, with_children

_LEAVES = (Const, Var)


def lanes(expr: Expr) -> int:
    """Lanes of the value of `expr`; 1 for a scalar."""
    match expr:
        case Ramp() | Broadcast():
            return expr.lanes
        case Const() | Var() | Reduce():
            return 1
        case Load():
            return lanes(expr.indices[0]) if expr.indices else 1
    return max(map(lanes, expr_children(expr)))


def loads_in(expr: Expr, selected: bool = True) -> list[Load]:
    """Every load below `expr`, in no order; without `selected` only those that no selection may
    skip. Written for speed, as is `map_loads`: passes spend most of their time here."""
    found: list[Load] = []
    stack = [expr]
    while stack:
        node = stack.pop()
        if type(node) is Call:
            stack += node.args
        elif type(node) is Load:
            found.append(node)
            stack += node.indices
        elif type(node) not in _LEAVES and (selected or type(node) is not Select):
            stack += expr_children(node)
    return found


def map_loads(expr: Expr, fn: Callable[[Load], Expr]) -> Expr:
    """`expr` with `fn` applied to its loads, inner ones first."""
    if type(expr) in _LEAVES:
        return expr
    old = expr_children(expr)
    new = tuple([map_loads(child, fn) for child in old])
    if any(a is not b for a, b in zip(old, new, strict=True)):
        expr = with_children(expr, new)
    return fn(expr) if isinstance(expr, Load) else expr


def index_only(expr: Expr) -> bool:
    """Whether `expr` is arithmetic on loop variables and literals alone."""
    match expr:
        case Const() | Var():
            return True
        case Load() | Cast() | Ramp():
            return False
    return all(index_only(c) for c in expr_children(expr))


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
    return expr


def _offset(base: Expr, offset: int) -> Expr:
    match base:
        case Const(value=value):
            return Const(int(value) + offset)
        case Call("add", (rest, Const(value=value)), dtype):
            return Call("add", (rest, Const(int(value) + offset)), dtype)
    return base if offset == 0 else Call("add", (base, Const(offset)), base.dtype)
