"""The one intermediate representation: frozen nodes under this grammar.

    program ::= Program(name, params: buffer*, locals: buffer*, body: stmt*)
    buffer  ::= Buffer(name, dtype, shape: int*, scope, const)
    stmt    ::= For(var, extent: int, kind, body: stmt*, notes)  var runs over 0 … extent - 1
              | If(cond: expr, body: stmt*)
              | Store(buffer, indices: expr*, value: expr, reduce)
              | Barrier()                                       only after lower.insert_barriers
    expr    ::= Const(value, dtype)
              | Var(name)                                       a loop variable, dtype i64
              | Load(buffer, indices: expr*, dtype)
              | Call(op, args: expr*, dtype)                    op: a row of tuner.ir.ops.OPS
              | Select(cond, then, other)                       evaluates the taken side only
              | Cast(dtype, arg)
              | Ramp(base, stride: int, lanes)                  only after lower.vectorize
              | Broadcast(arg, lanes)                           only after lower.vectorize
              | Reduce(op, arg)                                 lanes -> scalar, likewise
              | Shuffle(first, second, picks: int*)             only after lower.transpose_lanes

`Store.reduce` is None (assign) or an associative and commutative operator (add, mul, min, max):
then the store means `b[i] = op(b[i], value)` and the order of such stores among themselves is free.
Buffers and loops have program-wide unique names; those names are how steps address them.
A rewrite returns the same object where nothing changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tuner.dtypes import BOOL, INDEX, DType


class LoopKind(StrEnum):
    """How a loop is executed."""

    SERIAL = "range"
    UNROLLED = "unrolled"
    VECTORIZED = "vectorized"
    #: by all threads of the target at once
    PARALLEL = "parallel"
    #: each iteration by another block of threads, along one axis of the grid
    BLOCK_X = "blockIdx.x"
    BLOCK_Y = "blockIdx.y"
    BLOCK_Z = "blockIdx.z"
    #: each iteration by another thread of a block, along one axis of the block
    THREAD_X = "threadIdx.x"
    THREAD_Y = "threadIdx.y"
    THREAD_Z = "threadIdx.z"

    @property
    def is_block(self) -> bool:
        """Whether its iterations are blocks of a grid."""
        return self.value.startswith("blockIdx.")

    @property
    def is_thread(self) -> bool:
        """Whether its iterations are threads of a block."""
        return self.value.startswith("threadIdx.")

    @property
    def is_bound(self) -> bool:
        """Whether its iterations are blocks or threads."""
        return self.is_block or self.is_thread

    @property
    def dimension(self) -> int:
        """0, 1 or 2 for the axes x, y and z of a bound loop."""
        return "xyz".index(self.value[-1])


#: The axes that a loop can be bound to, by name.
AXES = {kind.value: kind for kind in LoopKind if kind.is_bound}


class Scope(StrEnum):
    """Where a buffer lives."""

    PARAM = "param"
    #: the workspace that the caller hands in
    GLOBAL = "global"
    #: memory of one block of threads, which all of them see
    SHARED = "shared"
    #: registers or the stack; small; each thread's own
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Const:
    value: int | float | bool
    dtype: DType = INDEX


@dataclass(frozen=True, slots=True)
class Var:
    name: str

    @property
    def dtype(self) -> DType:
        return INDEX


@dataclass(frozen=True, slots=True)
class Load:
    buffer: str
    indices: tuple[Expr, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Call:
    op: str
    args: tuple[Expr, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Select:
    cond: Expr
    then: Expr
    other: Expr

    @property
    def dtype(self) -> DType:
        return self.then.dtype


@dataclass(frozen=True, slots=True)
class Cast:
    dtype: DType
    arg: Expr


@dataclass(frozen=True, slots=True)
class Ramp:
    base: Expr
    stride: int
    lanes: int

    @property
    def dtype(self) -> DType:
        return INDEX


@dataclass(frozen=True, slots=True)
class Broadcast:
    arg: Expr
    lanes: int

    @property
    def dtype(self) -> DType:
        return self.arg.dtype


@dataclass(frozen=True, slots=True)
class Reduce:
    op: str
    arg: Expr

    @property
    def dtype(self) -> DType:
        return self.arg.dtype


@dataclass(frozen=True, slots=True)
class Shuffle:
    """As many lanes as `picks` has numbers: those are places in the lanes of `first`, continued by
    those of `second`, which has as many."""

    first: Expr
    second: Expr
    picks: tuple[int, ...]

    @property
    def dtype(self) -> DType:
        return self.first.dtype

    @property
    def lanes(self) -> int:
        return len(self.picks)


Expr = Const | Var | Load | Call | Select | Cast | Ramp | Broadcast | Reduce | Shuffle


@dataclass(frozen=True, slots=True)
class For:
    var: str
    extent: int
    kind: LoopKind
    body: tuple[Stmt, ...]
    #: without meaning (tuner.ir.notes)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class If:
    cond: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Store:
    buffer: str
    indices: tuple[Expr, ...]
    value: Expr
    reduce: str | None = None


@dataclass(frozen=True, slots=True)
class Barrier:
    """Every thread of a block waits here for all others, and sees what they have stored."""


Stmt = For | If | Store | Barrier
Node = Expr | Stmt

TRUE = Const(True, BOOL)


@dataclass(frozen=True, slots=True)
class Buffer:
    """A dense row-major array of `shape` elements."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    scope: Scope = Scope.GLOBAL
    #: stays the same over calls (weights)
    const: bool = False

    @property
    def size(self) -> int:
        """Elements."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def bytes(self) -> int:
        return self.size * self.dtype.bytes


@dataclass(frozen=True, slots=True)
class Program:
    """A tensor program. `params` are in call order, `locals` are its intermediate buffers."""

    name: str
    params: tuple[Buffer, ...]
    locals: tuple[Buffer, ...]
    body: tuple[Stmt, ...]

    def buffers(self) -> Iterator[Buffer]:
        yield from self.params
        yield from self.locals

    def buffer(self, name: str) -> Buffer:
        """The buffer called `name`. Raises KeyError."""
        for buffer in self.buffers():
            if buffer.name == name:
                return buffer
        raise KeyError(name)
