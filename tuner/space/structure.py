"""What a program's loop nests are, read from their structure alone: contractions with the
element-wise nests that consume them, and everything else."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.dtypes import DType
from tuner.ir.affine import Linear, linear
from tuner.ir.nodes import (
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    For,
    Load,
    Program,
    Select,
    Stmt,
    Store,
    Var,
)
from tuner.ir.visit import loads, walk_exprs


@dataclass(frozen=True, slots=True)
class Operand:
    """A factor of a contraction: a load, with its subscripts as linear forms of loops."""

    buffer: Buffer
    indices: tuple[Linear, ...]
    #: read as `load if inside else 0`
    padded: bool
    #: no other load of the program reads its buffer
    alone: bool

    def uses(self, loop: str) -> bool:
        """Whether any subscript depends on `loop`."""
        return any(Var(loop) in index.terms for index in self.indices)

    def dims_of(self, loop: str) -> tuple[int, ...]:
        """The dimensions whose subscript depends on `loop`."""
        return tuple(d for d, index in enumerate(self.indices) if Var(loop) in index.terms)

    def alone_in(self, loop: str) -> int | None:
        """The dimension whose subscript is just `loop`, if `loop` is nowhere else."""
        dims = self.dims_of(loop)
        if len(dims) == 1 and self.indices[dims[0]] == Linear({Var(loop): 1}):
            return dims[0]
        return None


@dataclass(frozen=True, slots=True)
class Consumer:
    """An element-wise nest that reads the elements of one buffer in place."""

    nest: int
    #: the buffer that it writes
    output: str
    #: its loop for each spatial loop of the contraction
    loops: tuple[str, ...]
    #: its loops from outer to inner
    order: tuple[str, ...]
    #: its loop for each dimension of the buffer that it writes
    written: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contraction:
    """`output[spatial] += product of operands` over the reduction loops."""

    nest: int
    output: Buffer
    dtype: DType
    #: loops in the order of the output's dimensions
    spatial: tuple[str, ...]
    #: dimension of the output behind each of them
    dims: tuple[int, ...]
    reduction: tuple[str, ...]
    #: loops of extent 1, which nothing depends on; outside of the start value, and inside
    idle: tuple[str, ...]
    idle_inside: tuple[str, ...]
    extents: dict[str, int]
    operands: tuple[Operand, ...]
    #: the start value is stored in the same nest, under all spatial loops
    starts_inside: bool
    consumers: tuple[Consumer, ...] = ()


def chain(stmt: For) -> tuple[list[For], tuple[Stmt, ...]]:
    """The loops that contain nothing but the next one, and the body of the last."""
    found, body = [stmt], stmt.body
    while len(body) == 1 and isinstance(body[0], For):
        found.append(body[0])
        body = body[0].body
    return found, body


def contraction(program: Program, nest: int) -> Contraction | None:
    """The contraction that top-level statement `nest` is, None if it is none."""
    top = program.body[nest]
    if not isinstance(top, For):
        return None
    outer, body = chain(top)
    inner: list[For] = []
    start: Store | None = None
    match body:
        case (Store() as start, For() as reduce):
            inner, body = chain(reduce)
    match body:
        case (Store(reduce="add") as update,):
            return _checked(program, nest, (outer, inner), start, update)
    return None


def _checked(
    program: Program,
    nest: int,
    loops: tuple[list[For], list[For]],
    start: Store | None,
    update: Store,
) -> Contraction | None:
    outer, inner = ([f.var for f in part if f.extent > 1] for part in loops)
    idle, idle_inside = (tuple(f.var for f in part if f.extent == 1) for part in loops)
    spatial = plain_loops(update.indices)
    operands = _factors(program, update.value)
    if spatial is None or operands is None or len(operands) < 2:
        return None
    if start is None:
        outer, inner = [o for o in outer if o in spatial], [o for o in outer if o not in spatial]
    elif (start.buffer, start.indices, start.reduce) != (update.buffer, update.indices, None):
        return None
    if set(spatial) != set(outer) or not inner:
        return None
    if any(o.buffer.name == update.buffer for o in operands):
        return None
    output = program.buffer(update.buffer)
    dims = tuple(update.indices.index(Var(loop)) for loop in spatial)
    extent = {f.var: f.extent for part in loops for f in part}
    return Contraction(
        nest, output, output.dtype, spatial, dims, tuple(inner), idle, idle_inside, extent,
        operands, start is not None,
    )  # fmt: skip


def plain_loops(indices: tuple[Expr, ...]) -> tuple[str, ...] | None:
    """The loops of subscripts that are each one loop of its own, or 0; None for others."""
    names = []
    for index in indices:
        match index:
            case Var(name):
                names.append(name)
            case Const(value=0):
                continue
            case _:
                return None
    return tuple(names) if len(set(names)) == len(names) else None


def _factors(program: Program, value: Expr) -> tuple[Operand, ...] | None:
    """The loads whose product `value` is, in the order of the program's buffers."""
    match value:
        case Call(op="mul", args=(a, b)):
            left, right = _factors(program, a), _factors(program, b)
            if left is None or right is None:
                return None
            names = [b.name for b in program.buffers()]
            return tuple(sorted(left + right, key=lambda o: names.index(o.buffer.name)))
        case Cast(arg=arg):
            return _factors(program, arg)
        case Const():
            return ()
        case Load():
            operand = _operand(program, value, padded=False)
        case Select(then=Load() as load, other=Const(value=other)) if other == 0:
            operand = _operand(program, load, padded=True)
        case _:
            return None
    return None if operand is None else (operand,)


def _operand(program: Program, load: Load, padded: bool) -> Operand | None:
    indices = tuple(linear(i) for i in load.indices)
    if not all(isinstance(atom, Var) for index in indices for atom in index.terms):
        return None
    alone = sum(other.buffer == load.buffer for other in loads(program.body)) == 1
    return Operand(program.buffer(load.buffer), indices, padded, alone)


def consumers(program: Program, found: Contraction) -> tuple[Consumer, ...]:
    """The chain of element-wise nests behind `found`, each the only reader of the buffer before it,
    in place; () where the output is read elsewhere or is a parameter of the program."""
    inner = {b.name for b in program.locals}
    chained: list[Consumer] = []
    nest, buffer, dims = found.nest, found.output.name, tuple(range(len(found.spatial)))
    while buffer in inner:
        readers = [
            n
            for n, stmt in enumerate(program.body)
            if any(load.buffer == buffer for load in loads((stmt,)))
        ]
        if len(readers) != 1 or readers[0] <= nest:
            break
        consumer = _consumer(program, readers[0], buffer, dims)
        if consumer is None:
            break
        chained.append(consumer)
        nest, buffer = consumer.nest, consumer.output
        dims = tuple(consumer.written.index(loop) for loop in consumer.loops)
    return tuple(chained)


def _consumer(program: Program, nest: int, buffer: str, dims: tuple[int, ...]) -> Consumer | None:
    """`dims`: the dimension of `buffer` behind each spatial loop of the contraction."""
    top = program.body[nest]
    if not isinstance(top, For):
        return None
    loops, body = chain(top)
    match body:
        case (Store(output, indices, value, None),):
            reads = {
                e.indices for e in walk_exprs(value) if isinstance(e, Load) and e.buffer == buffer
            }
        case _:
            return None
    read = plain_loops(reads.pop()) if len(reads) == 1 else None
    written, names = plain_loops(indices), tuple(f.var for f in loops)
    busy = {f.var for f in loops if f.extent > 1}
    if read is None or written is None or not set(read) == set(written) == busy:
        return None
    return Consumer(nest, output, tuple(read[d] for d in dims), names, written)
