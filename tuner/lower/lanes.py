"""A loop's body said in lanes: what vectorize puts in place of one register's worth of a loop."""

from __future__ import annotations

from dataclasses import replace

from tuner.dtypes import BOOL, F16
from tuner.ir.affine import linear
from tuner.ir.nodes import (
    Broadcast,
    Call,
    Cast,
    Expr,
    For,
    If,
    Load,
    Ramp,
    Reduce,
    Select,
    Stmt,
    Store,
    Var,
)
from tuner.ir.visit import Body, variables
from tuner.lower.exprs import computes_from_ramp, lanes, mask_bits

_NO_VECTOR = (BOOL, F16)


class _NotInLanes(Exception):
    """Some part has no meaning, or no cheap form, in lanes."""


def body_in_lanes(body: Body, var: str, first: Expr, width: int) -> Body | None:
    """`body` for the `width` values of `var` from `first` on, at once; None where that cannot be
    said."""
    try:
        return tuple(_Lanes(var, first, width).stmt(s) for s in body)
    except _NotInLanes:
        return None


class _Lanes:
    """Rewrites for one vector loop variable."""

    def __init__(self, var: str, first: Expr, width: int) -> None:
        self.var, self.first, self.width = var, first, width

    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case For():
                return replace(stmt, body=tuple(self.stmt(s) for s in stmt.body))
            case If():
                if self.var in variables(stmt.cond):
                    raise _NotInLanes
                return If(stmt.cond, tuple(self.stmt(s) for s in stmt.body))
            case Store():
                return self.store(stmt)
        return stmt

    def store(self, stmt: Store) -> Store:
        index = self.subscript(stmt.indices[0])
        value = self.expr(stmt.value)
        if stmt.value.dtype in _NO_VECTOR:
            raise _NotInLanes
        if isinstance(index, Ramp):
            return replace(stmt, indices=(index,), value=self.spread(value))
        if self.var in variables(index):
            raise _NotInLanes
        if stmt.reduce:
            return replace(stmt, value=Reduce(stmt.reduce, self.spread(value)))
        if lanes(value) > 1:
            raise _NotInLanes
        return stmt

    def subscript(self, index: Expr) -> Expr:
        """A Ramp where `index` moves evenly with the loop, `index` itself where it does not."""
        form = linear(index)
        stride = form.coefficient(self.var)
        rest = form.plus(linear(Var(self.var)), -stride)
        if stride == 0 or self.var in variables(rest.expr()):
            return index
        return Ramp(rest.plus(linear(self.first), stride).expr(), stride, self.width)

    def spread(self, expr: Expr) -> Expr:
        """A value for each lane. Truth values have no vectors, so a comparison is made of vectors,
        which gives a mask."""
        if lanes(expr) > 1:
            return expr
        if expr.dtype == BOOL and isinstance(expr, Call):
            return Call(expr.op, tuple(map(self.spread, expr.args)), BOOL)
        return Broadcast(expr, self.width)

    def expr(self, expr: Expr) -> Expr:
        if self.var not in variables(expr):
            return expr
        match expr:
            case Var():
                return Ramp(self.first, 1, self.width)
            case Load():
                return self.load(expr)
            case Call():
                args = tuple(self.spread(self.expr(a)) for a in expr.args)
                return Call(expr.op, args, expr.dtype)
            case Select():
                return self.select(expr)
            case Cast():
                return self.cast(expr)
        raise _NotInLanes

    def load(self, expr: Load) -> Expr:
        if expr.dtype in _NO_VECTOR:
            raise _NotInLanes
        index = self.subscript(expr.indices[0])
        if not isinstance(index, Ramp):
            index = self.spread(self.expr(index))
        return Load(expr.buffer, (index,), expr.dtype)

    def select(self, expr: Select) -> Expr:
        if expr.dtype in _NO_VECTOR:
            raise _NotInLanes
        cond = self.expr(expr.cond)
        then, other = self.spread(self.expr(expr.then)), self.spread(self.expr(expr.other))
        by_lane = lanes(cond) == 1 or computes_from_ramp(cond)
        if not by_lane and mask_bits(expr.cond) != expr.dtype.bits:
            raise _NotInLanes
        return Select(cond, then, other)

    def cast(self, expr: Cast) -> Expr:
        if expr.dtype in _NO_VECTOR or expr.arg.dtype in _NO_VECTOR:
            raise _NotInLanes
        return Cast(expr.dtype, self.spread(self.expr(expr.arg)))
