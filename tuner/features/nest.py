"""Loop nests as far as features need them, for many points of one structure at once.

A kernel is a list of nests, one for each store, in program order: the loops around the store and
the elements that it touches. Sizes are arrays over the population, [points], or [1] where all
points agree. A nest is as long as it is issued; its guards say how much of that is executed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tuner.dtypes import INDEX
from tuner.ir.affine import as_nonnegative, conjuncts, is_index_comparison, linear
from tuner.ir.nodes import (
    Call,
    Const,
    Expr,
    For,
    If,
    Load,
    LoopKind,
    Program,
    Scope,
    Select,
    Stmt,
    Store,
    Var,
)
from tuner.ir.ops import OPS
from tuner.ir.visit import expr_children, walk_exprs
from tuner.space.knobs import Floats

#: Operators that take many instructions.
COSTLY = frozenset(name for name, op in OPS.items() if op.result == "float")


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop; `extent` over the population."""

    name: str
    extent: Floats
    kind: LoopKind = LoopKind.SERIAL


@dataclass(frozen=True, slots=True)
class Dim:
    """One subscript: elements moved for each step of a loop, taken modulo `modulus` if there is
    one. Coefficients below 1 are those of a floor division."""

    steps: Mapping[str, Floats]
    modulus: Floats | None = None

    def step(self, loop: str) -> Floats:
        """Elements from one iteration of `loop` to the next; the loop must move the subscript."""
        step = np.abs(self.steps[loop])
        return step if self.modulus is None else step % self.modulus

    def only(self, loops: Sequence[Loop]) -> Dim:
        """The subscript as far as it depends on `loops`."""
        names = {loop.name for loop in loops}
        return Dim({name: s for name, s in self.steps.items() if name in names}, self.modulus)

    def plus(self, loop: str, step: Floats) -> Dim:
        """The subscript with one more loop."""
        return Dim({**self.steps, loop: step}, self.modulus)

    def span(self, loops: Sequence[Loop]) -> Floats:
        """Elements from the first to the last that is touched while `loops` run, [points]."""
        return np.asarray(self.spans(loops)[0], dtype=np.float64)

    def spans(self, loops: Sequence[Loop]) -> Floats:
        """`span` of all loops, of all but the first, …, of none, [loops + 1, points]."""
        moves = [
            self.step(loop.name) * (loop.extent - 1) if loop.name in self.steps else None
            for loop in loops
        ]
        reach = np.zeros((len(loops) + 1, max((len(m) for m in moves if m is not None), default=1)))
        for at in range(len(loops) - 1, -1, -1):
            move = moves[at]
            reach[at] = reach[at + 1] if move is None else reach[at + 1] + move
        spans = np.floor(reach + 1e-6) + 1
        return spans if self.modulus is None else np.minimum(spans, self.modulus)


@dataclass(frozen=True, slots=True)
class Access:
    """The elements of one buffer that a store reads or writes."""

    buffer: str
    dims: tuple[Dim, ...]
    #: in a branch of a selection: it need not stay inside of the buffer wherever the store runs
    selected: bool = False

    def map(self, change: Callable[[Dim], Dim]) -> Access:
        """The access with `change` made to each subscript."""
        return Access(self.buffer, tuple([change(d) for d in self.dims]), self.selected)


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition that lets some iterations pass, over the loops that were split from one."""

    loops: frozenset[str]
    #: iterations of all its loops together that pass, at most; infinite where there is no guard
    passes: Floats


@dataclass(frozen=True, slots=True)
class Nest:
    """One store and the loops around it, outermost first."""

    loops: tuple[Loop, ...]
    write: Access
    reads: tuple[Access, ...]
    #: accumulates into what it writes
    reduces: bool
    #: cheap and costly floating-point operations of one iteration, the accumulation included
    cheap: float
    costly: float
    guards: tuple[Guard, ...] = ()
    #: buffers that subscripts and conditions are read from
    looked_up: frozenset[str] = frozenset()

    def inside(self, loop: str) -> tuple[Loop, ...]:
        """The loops inside of `loop`; all of them for ""."""
        names = [item.name for item in self.loops]
        return self.loops[names.index(loop) + 1 :] if loop else self.loops

    def around(self, loop: str) -> tuple[Loop, ...]:
        """`loop` and the loops around it; none for ""."""
        return self.loops[: len(self.loops) - len(self.inside(loop))]

    def has(self, loop: str) -> bool:
        """Whether `loop` is around the store; always so for ""."""
        return not loop or loop in [item.name for item in self.loops]

    def accesses(self) -> tuple[Access, ...]:
        """The write, then the reads."""
        return (self.write, *self.reads)

    def with_accesses(self, change: Callable[[Access], Access]) -> Nest:
        """The nest with `change` made to what it writes and reads."""
        reads = tuple([change(r) for r in self.reads])
        return replace(self, write=change(self.write), reads=reads)

    def with_loops(self, loops: tuple[Loop, ...]) -> Nest:
        """The nest with other loops around it."""
        return replace(self, loops=loops)

    def iterations(self, names: frozenset[str]) -> Floats:
        """Iterations of those loops that are in `names`, together."""
        out = np.ones(1)
        for loop in self.loops:
            if loop.name in names:
                out = out * loop.extent
        return out


@dataclass(frozen=True, slots=True)
class Shape:
    """A buffer's extents over the population, and the bytes of one element."""

    extents: tuple[Floats, ...]
    item: int
    #: made to hold a tile: in registers if it is small enough
    tile: bool = False
    #: by the caller, and whether it is the same in all calls
    given: bool = False
    constant: bool = False

    def bytes(self) -> Floats:
        """Bytes of the whole buffer."""
        size = np.full(1, float(self.item))
        for extent in self.extents:
            size = size * extent
        return size


@dataclass(frozen=True, slots=True)
class Kernel:
    """All nests of a program, and its buffers."""

    nests: tuple[Nest, ...]
    shapes: Mapping[str, Shape]

    def each(self, change: Callable[[Nest], Nest]) -> Kernel:
        """The kernel with `change` made to each nest."""
        return Kernel(tuple([change(nest) for nest in self.nests]), self.shapes)


def kernel_of(program: Program) -> Kernel:
    """The nests of one program."""
    shapes = {
        b.name: Shape(
            tuple(np.array([float(e)]) for e in b.shape),
            b.dtype.bytes,
            tile=b.scope is Scope.LOCAL,
            given=b.scope is Scope.PARAM,
            constant=b.const,
        )
        for b in program.buffers()
    }
    return Kernel(tuple(_nests(program.body, (), ())), shapes)


def _nests(
    body: tuple[Stmt, ...], around: tuple[Loop, ...], conds: tuple[Expr, ...]
) -> Iterator[Nest]:
    for stmt in body:
        match stmt:
            case For(var, extent, kind, inner):
                loop = Loop(var, np.array([float(extent)]), kind)
                yield from _nests(inner, (*around, loop), conds)
            case If(cond, inner):
                yield from _nests(inner, around, (*conds, *conjuncts(cond)))
            case Store():
                nest = _nest(stmt, around)
                looked_up = frozenset(_looked_up((*conds, *stmt.indices), stmt.value))
                yield replace(nest, guards=tuple(_guards(conds)), looked_up=looked_up)


def _looked_up(deciding: tuple[Expr, ...], value: Expr) -> Iterator[str]:
    """Buffers that are read for more than their data: where an access goes, or whether it is."""
    inside = list(walk_exprs(value))
    found = [*deciding, *(e.cond for e in inside if isinstance(e, Select))]
    found += [index for e in inside if isinstance(e, Load) for index in e.indices]
    return (e.buffer for whole in found for e in walk_exprs(whole) if isinstance(e, Load))


def _guards(conds: tuple[Expr, ...]) -> Iterator[Guard]:
    """The guards that say how far loops go, without those that another one implies: of a loop that
    was split more than once, the one over all its parts."""
    found = []
    for cond in conds:
        form = as_nonnegative(cond)
        steps = (
            {}
            if form is None
            else {a.name: -c for a, c in form.terms.items() if isinstance(a, Var)}
        )
        if form is not None and len(steps) == len(form.terms) > 0 and min(steps.values()) > 0:
            found.append(
                Guard(frozenset(steps), np.array([form.const // min(steps.values()) + 1.0]))
            )
    for guard in found:
        if not any(guard.loops < other.loops for other in found):
            yield guard


def _nest(store: Store, around: tuple[Loop, ...]) -> Nest:
    nodes = list(_data_nodes(store.value, False))
    ops = [n.op for n, _ in nodes if isinstance(n, Call) and OPS[n.op].flop]
    costly = float(sum(op in COSTLY for op in ops))
    reads = tuple(
        Access(n.buffer, tuple(_dim(i) for i in n.indices), selected)
        for n, selected in nodes
        if isinstance(n, Load)
    )
    write = Access(store.buffer, tuple(_dim(i) for i in store.indices))
    reduces = store.reduce is not None
    return Nest(around, write, reads, reduces, len(ops) - costly + reduces, costly)


def _data_nodes(expr: Expr, selected: bool) -> Iterator[tuple[Expr, bool]]:
    """The nodes of a value without subscripts and without the conditions on them, each with
    whether it is in a branch of a selection."""
    if isinstance(expr, Load):
        yield expr, selected
    elif not is_index_comparison(expr):
        if expr.dtype != INDEX:
            yield expr, selected
        for child in expr_children(expr):
            branch = isinstance(expr, Select) and child is not expr.cond
            yield from _data_nodes(child, selected or branch)


def _dim(index: Expr) -> Dim:
    steps: dict[str, Floats] = {}
    modulus = None
    for atom, coefficient in linear(index).terms.items():
        match atom:
            case Var(name):
                scaled, inner = float(coefficient), linear(Var(name))
            case Call(op="floordiv", args=(a, Const(value=d))):
                scaled, inner = coefficient / float(d), linear(a)
            case Call(op="mod", args=(a, Const(value=d))):
                scaled, inner, modulus = float(coefficient), linear(a), np.array([float(d)])
            case _:
                continue
        for term, c in inner.terms.items():
            if isinstance(term, Var):
                steps[term.name] = steps.get(term.name, np.zeros(1)) + scaled * c
    return Dim(steps, modulus)
