"""The interpreter: what a program means, on numpy arrays.

Every operation is rounded once, in its operands' type, and every store to the buffer's type.
Loops run one iteration after the other, except where tuner.ir.lanes shows that all iterations may
be taken as lanes of numpy arrays: those give the same values, the order inside a reduction being
free. The n-th such loop around a statement owns the n-th axis from the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tuner.dtypes import BF16, INDEX, bf16_bits, bf16_values
from tuner.errors import StageError
from tuner.ir.lanes import classify
from tuner.ir.nodes import (
    Broadcast,
    Call,
    Cast,
    Const,
    Expr,
    For,
    If,
    Load,
    Program,
    Ramp,
    Reduce,
    Select,
    Shuffle,
    Store,
    Var,
)
from tuner.ir.numerics import Value, accumulate, apply, cast, identity, poison
from tuner.ir.show import show_access
from tuner.ir.visit import Body, outputs

#: Elements of one numpy operation; a loop that would need more runs serially.
MAX_LANES = 1 << 21


def run(program: Program, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of `program`, by name. `inputs` holds every parameter that is only read.

    Raises ValueError for inputs of another shape or type, StageError for an access outside.
    """
    written = outputs(program)
    buffers = {b.name: poison(b.shape, b.dtype) for b in program.locals}
    for buffer in program.params:
        if buffer.name in written:
            buffers[buffer.name] = poison(buffer.shape, buffer.dtype)
            continue
        array = np.ascontiguousarray(inputs[buffer.name])
        if array.shape != buffer.shape or array.dtype != buffer.dtype.numpy:
            raise ValueError(
                f"input {buffer.name!r} is {array.dtype}{list(array.shape)}; "
                f"expected {buffer.dtype}{list(buffer.shape)}"
            )
        buffers[buffer.name] = bf16_values(array) if buffer.dtype == BF16 else array
    machine = _Machine(buffers, classify(program.body))
    with np.errstate(all="ignore"):
        machine.body(program.body, _Frame({}))
    return {
        name: bf16_bits(buffers[name]) if program.buffer(name).dtype == BF16 else buffers[name]
        for name in written
    }


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where a statement runs: the loop variables, the lanes, and which of them take part."""

    env: dict[str, Value]
    rank: int = 0
    lanes: int = 1
    mask: Value = True
    #: for each axis, the last first: the buffers whose stores reduce over it
    reduced: tuple[frozenset[str], ...] = ()

    def masked(self, cond: Value) -> _Frame:
        return _Frame(self.env, self.rank, self.lanes, self.mask & cond, self.reduced)


@dataclass(frozen=True, slots=True)
class _Machine:
    buffers: dict[str, np.ndarray]
    kinds: dict[int, frozenset[str] | None]

    def body(self, body: Body, frame: _Frame) -> None:
        for stmt in body:
            match stmt:
                case For():
                    self._loop(stmt, frame)
                case If():
                    inner = frame.masked(self.value(stmt.cond, frame))
                    if np.any(inner.mask):
                        self.body(stmt.body, inner)
                case Store():
                    self._store(stmt, frame)

    def _loop(self, loop: For, frame: _Frame) -> None:
        accumulated, lanes = self.kinds[id(loop)], frame.lanes * loop.extent
        if accumulated is None or lanes > MAX_LANES:
            for i in range(loop.extent):
                self.body(loop.body, _with(frame, loop.var, i))
            return
        axis = np.arange(loop.extent).reshape(-1, *(1,) * frame.rank)
        env, reduced = {**frame.env, loop.var: axis}, (*frame.reduced, accumulated)
        self.body(loop.body, _Frame(env, frame.rank + 1, lanes, frame.mask, reduced))

    def _store(self, stmt: Store, frame: _Frame) -> None:
        array = self.buffers[stmt.buffer]
        value, mask = self.value(stmt.value, frame), frame.mask
        axes = tuple(-1 - n for n, names in enumerate(frame.reduced) if stmt.buffer in names)
        if axes:
            value, mask = _over_lanes(stmt, value, frame, axes)
        indices = self._indices(stmt.buffer, stmt.indices, frame, mask)
        if array.ndim != len(indices):
            array = array.reshape(-1)
        if not np.ndim(mask):
            parts = indices
        else:
            *parts, value, mask = np.broadcast_arrays(*indices, value, mask)
            parts, value = [p[mask] for p in parts], value[mask]
        place = tuple(parts)
        if stmt.reduce:
            value = apply(stmt.reduce, (array[place], value), stmt.value.dtype)
        array[place] = value

    def _indices(
        self, buffer: str, exprs: tuple[Expr, ...], frame: _Frame, mask: Value
    ) -> list[Value]:
        """Subscripts, checked; lanes that do not take part read element 0."""
        array = self.buffers[buffer]
        shape = array.shape if len(exprs) == array.ndim else (array.size,)
        indices = [self.value(e, frame) for e in exprs]
        if np.ndim(mask):
            indices = [np.where(mask, i, 0) for i in indices]
        for index, extent in zip(indices, shape, strict=True):
            low, high = (index, index) if isinstance(index, int) else (index.min(), index.max())
            if low < 0 or high >= extent:
                raise StageError(f"{show_access(buffer, exprs)} leaves {list(shape)}")
        return indices

    def value(self, expr: Expr, frame: _Frame) -> Value:
        """The value of `expr`, of its own dtype, over the lanes of `frame`."""
        match expr:
            case Const(value=value, dtype=dtype):
                return int(value) if dtype == INDEX else dtype.held.type(value)
            case Var(name):
                return frame.env[name]
            case Load():
                indices = self._indices(expr.buffer, expr.indices, frame, frame.mask)
                array = self.buffers[expr.buffer]
                return (array if array.ndim == len(indices) else array.reshape(-1))[tuple(indices)]
            case Call():
                args = tuple(self.value(a, frame) for a in expr.args)
                return apply(expr.op, args, expr.dtype)
            case Select():
                return self._select(expr, frame)
            case Cast():
                return cast(self.value(expr.arg, frame), expr.arg.dtype, expr.dtype)
            case Ramp():
                steps = np.arange(expr.lanes).reshape(-1, *(1,) * frame.rank)
                return self.value(expr.base, frame) + expr.stride * steps
            case Broadcast():
                one = np.asarray(self.value(expr.arg, frame))
                one = one.reshape((1,) * (frame.rank - one.ndim) + one.shape)
                return np.broadcast_to(one, (expr.lanes, *one.shape))
            case Reduce():
                return accumulate(expr.op, self.value(expr.arg, frame), 0)
            case Shuffle():
                sides = np.broadcast_arrays(
                    self.value(expr.first, frame), self.value(expr.second, frame)
                )
                return np.concatenate(sides)[list(expr.picks)]

    def _select(self, expr: Select, frame: _Frame) -> Value:
        cond = self.value(expr.cond, frame)
        if not np.ndim(cond):
            return self.value(expr.then if cond else expr.other, frame)
        then = self.value(expr.then, frame.masked(cond))
        other = self.value(expr.other, frame.masked(np.logical_not(cond)))
        return np.where(cond, then, other)


def _with(frame: _Frame, var: str, value: int) -> _Frame:
    return _Frame({**frame.env, var: value}, frame.rank, frame.lanes, frame.mask, frame.reduced)


def _over_lanes(
    stmt: Store, value: Value, frame: _Frame, axes: tuple[int, ...]
) -> tuple[Value, Value]:
    """Value and mask of a store with the lanes of the reduction taken together."""
    assert stmt.reduce is not None
    lanes = [np.shape(v) for v in frame.env.values() if np.ndim(v)]
    shape = np.broadcast_shapes(*lanes, np.shape(value), np.shape(frame.mask))
    value = np.broadcast_to(value, shape)
    mask = frame.mask
    if np.ndim(mask):
        mask = np.broadcast_to(mask, shape)
        value = np.where(mask, value, identity(stmt.reduce, stmt.value.dtype))
        mask = np.any(mask, axis=axes, keepdims=True)
    return _without_unit_axes(accumulate(stmt.reduce, value, axes, keep=True)), (
        _without_unit_axes(mask) if np.ndim(mask) else mask
    )


def _without_unit_axes(array: np.ndarray) -> Value:
    """Leading axes of length one carry nothing, and stores to one element want a scalar."""
    while array.ndim and array.shape[0] == 1:
        array = array[0]
    return array
