"""Work and traffic of a program, counted from the program itself."""

from __future__ import annotations

from tuner.dtypes import INDEX
from tuner.ir.affine import is_index_comparison
from tuner.ir.nodes import Call, Expr, For, If, Load, Program, Select, Store
from tuner.ir.ops import OPS
from tuner.ir.visit import Body, expr_children, walk_exprs


def flops(program: Program) -> int:
    """Operations on data: every arithmetic, comparison or mathematical one counts 1.

    Subscripts and tests of loop variables count 0, the costlier side of a conditional counts, and
    a statement under an `if` counts as if the test held.
    """
    return _body(program.body)


def io_bytes(program: Program) -> int:
    """Each input read once and each output written once."""
    return sum(buffer.bytes for buffer in program.params)


def _body(body: Body) -> int:
    total = 0
    for stmt in body:
        match stmt:
            case For():
                total += stmt.extent * _body(stmt.body)
            case If():
                total += _body(stmt.body)
            case Store():
                total += _expr(stmt.value) + (stmt.reduce is not None)
    return total


def _expr(expr: Expr) -> int:
    match expr:
        case Load():
            return 0
        case Select(cond, then, other):
            return _expr(cond) + max(_expr(then), _expr(other))
        case Call() if _on_loop_variables(expr):
            return 0
    own = isinstance(expr, Call) and OPS[expr.op].flop
    return own + sum(_expr(child) for child in expr_children(expr))


def _on_loop_variables(expr: Call) -> bool:
    if is_index_comparison(expr):
        return True
    return expr.dtype == INDEX and not any(isinstance(e, Load) for e in walk_exprs(expr))
