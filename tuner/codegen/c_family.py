"""Statements of the C family: the body of a lowered program, printed with one dialect's table."""

from __future__ import annotations

from collections.abc import Iterable, Set

from tuner.codegen.c_exprs import PRIMARY, ExprPrinter, Place
from tuner.codegen.emitter import Emitter
from tuner.dtypes import INDEX, DType
from tuner.errors import CodegenError
from tuner.ir.affine import Linear, bounds, linear
from tuner.ir.nodes import (
    Barrier,
    Broadcast,
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    For,
    If,
    LoopKind,
    Ramp,
    Scope,
    Select,
    Stmt,
    Store,
    Var,
)
from tuner.ir.notes import as_prefetch
from tuner.ir.visit import Body, loops, stmt_exprs, substitute_expr, variables, walk, walk_exprs
from tuner.lower.dataflow import Touched, loads_below
from tuner.lower.exprs import Loads, index_only, lane, lanes, split_offset
from tuner.lower.names import Names

#: the variable that holds a vector on its way to scattered elements
LANES = "lane_values"
#: columns of a line of declarations
_MAX_LINE = 96


class BodyPrinter:
    """Prints statements into an Emitter; `threads` share the parallel loops. Buffers in `lasting`
    keep their values from one iteration of the loops around them to the next."""

    def __init__(
        self, exprs: ExprPrinter, loads: Loads, out: Emitter, threads: int = 1,
        lasting: Set[str] = frozenset(),
    ) -> None:  # fmt: skip
        self.exprs, self.out, self.touched, self.loads = exprs, out, Touched(loads), loads
        self.threads, self.lasting = threads, lasting
        self.names = Names(exprs.names.values())

    def body(self, body: Body, local: list[Buffer]) -> None:
        """`body` with the declarations of those of `local` that no single loop in it holds."""
        users: dict[str, list[int]] = {b.name: [] for b in local}
        for i, names in enumerate(self.touched.of_each(body)):
            for name in users.keys() & names:
                users[name].append(i)
        inside: dict[int, list[Buffer]] = {}
        here: list[Buffer] = []
        for buffer in local:
            first, *others = users[buffer.name]
            if not others and self._may_hold(body[first], buffer):
                inside.setdefault(first, []).append(buffer)
            else:
                here.append(buffer)
        started = {b.name: self._start(body, users[b.name][0], b) for b in here}
        self.declarations(b for b in here if started[b.name] is None)
        starts = {at for at in started.values() if at is not None}
        outer = self.exprs.pointers
        self.exprs.pointers = {**outer, **self._pointers(body)}
        for i, stmt in enumerate(body):
            self.stmt(stmt, inside.get(i, []), declare=i in starts)
        self.exprs.pointers = outer

    def _may_hold(self, stmt: Stmt, buffer: Buffer) -> bool:
        """Whether `buffer`, which only `stmt` uses, may be declared inside of it."""
        if not isinstance(stmt, For):
            return False
        return buffer.name not in self.lasting or stmt.kind.is_bound

    def _pointers(self, body: Body) -> dict[Place, tuple[str, int]]:
        """Declares a pointer for each place that the stores of `body` come back to: what moves is
        added once, and the accesses differ by constants."""
        #: for each place, the constants of its accesses, and the value that makes each
        found: dict[Place, list[tuple[int, Expr | None]]] = {}
        moved: dict[int, Expr] = {}
        for stmt in body:
            if isinstance(stmt, Store):
                loaded = reversed(self.loads.of(stmt.value))
                accesses = [(x.buffer, x.indices[0], stmt.value) for x in loaded]
                for buffer, index, value in [*accesses, (stmt.buffer, stmt.indices[0], None)]:
                    moving, offset = split_offset(index.base if isinstance(index, Ramp) else index)
                    if moving:
                        number = self.exprs.number(moving)
                        moved[number] = moving
                        found.setdefault((buffer, number), []).append((offset, value))
        out: dict[Place, tuple[str, int]] = {}
        for (buffer, number), uses in found.items():
            known = (buffer, number) in self.exprs.pointers
            if len(uses) < 2 or known or not index_only(moved[number]):
                continue
            base = self._base(buffer, moved[number], uses)
            if base is not None:
                out[buffer, number] = self._pointer(buffer, moved[number], base), base
        return out

    def _base(self, buffer: str, moving: Expr, uses: list[tuple[int, Expr | None]]) -> int | None:
        """A constant that keeps `moving` in the buffer: C has no pointers to anywhere else."""
        low, high = bounds(moving, self.exprs.ranges)
        if low >= 0 and high <= self.exprs.buffers[buffer].size:
            return 0
        return next((offset for offset, value in uses if value is None or _all_made(value)), None)

    def _pointer(self, buffer: str, moving: Expr, base: int) -> str:
        const = self.exprs.dialect.spaces[self.exprs.buffers[buffer].scope]
        const += "const " if buffer in self.exprs.readonly else ""
        kind = self.exprs.dialect.type(self.exprs.buffers[buffer].dtype)
        name = self.names.fresh(f"{self.exprs.names[buffer]}_at")
        index = linear(moving).plus(Linear({}, base)).expr()
        place = f"&{self.exprs.names[buffer]}[{self.exprs.text(index)}]"
        self.out.line(f"{const}{kind} *{name} = {place};")
        return name

    def _start(self, body: Body, first: int, buffer: Buffer) -> int | None:
        """`first`, the place in `body` where the variable `buffer` is used first, if that assigns
        it as a whole."""
        stmt, width = body[first], self.exprs.registers.get(buffer.name)
        if not isinstance(stmt, Store) or stmt.buffer != buffer.name or stmt.reduce:
            return None
        return first if lanes(stmt.indices[0]) == width else None

    def declarations(self, buffers: Iterable[Buffer]) -> None:
        kinds: dict[str, list[str]] = {}
        for buffer in buffers:
            name, width = self.exprs.names[buffer.name], self.exprs.registers.get(buffer.name)
            if width is None:
                kind = self.exprs.dialect.type(buffer.dtype)
                self.out.line(f"{kind} {name}[{buffer.size}] __attribute__((aligned(64)));")
            else:
                kinds.setdefault(self.exprs.type(buffer.dtype, width), []).append(name)
        for kind, names in kinds.items():
            self._wrapped(kind, names)

    def _wrapped(self, kind: str, names: list[str]) -> None:
        line = f"{kind} {names[0]}"
        for name in names[1:]:
            if len(line) + len(name) > _MAX_LINE:
                self.out.line(f"{line};")
                line = f"{kind} {name}"
            else:
                line += f", {name}"
        self.out.line(f"{line};")

    def stmt(self, stmt: Stmt, local: list[Buffer], declare: bool = False) -> None:
        """`declare`: a store begins the life of its variable."""
        match stmt:
            case For(var, extent, LoopKind.SERIAL | LoopKind.PARALLEL as kind, body):
                for note in stmt.notes:
                    if not as_prefetch(note):
                        self.out.line(f"/* {note} */")
                if kind is LoopKind.PARALLEL:
                    self._parallel()
                name = self.exprs.names[var]
                self.exprs.ranges[var] = extent
                with self.out.block(f"for (long {name} = 0; {name} < {extent}; {name}++)"):
                    self._prefetches(stmt)
                    self.body(body, local)
            case For(kind=kind) if kind in self.exprs.dialect.places:
                with self.out.block(""):
                    self.body(self.placed((stmt,)), local)
            case If(cond, body):
                with self.out.block(f"if ({self.exprs.text(cond)})"):
                    self.body(body, local)
            case Store():
                self._store(stmt, declare)
            case Barrier() if self.exprs.dialect.barrier:
                self.out.line(f"{self.exprs.dialect.barrier};")
            case For():
                raise CodegenError(f"{self.exprs.dialect.name} has no {stmt.kind} loop")
            case _:
                raise CodegenError(f"{self.exprs.dialect.name} has no barrier")

    def placed(self, body: Body) -> Body:
        """Declares the variables of the bound loops that `body` is a chain of; what they hold."""
        places = self.exprs.dialect.places
        while len(body) == 1 and isinstance(body[0], For) and body[0].kind in places:
            loop = body[0]
            self.exprs.ranges[loop.var] = loop.extent
            if loop.extent > 1 or _uses(loop.body, loop.var):
                self.out.line(f"const long {self.exprs.names[loop.var]} = {places[loop.kind]};")
            body = loop.body
        return body

    def _prefetches(self, loop: For) -> None:
        """One prefetch for each place of a buffer in memory that the loop's notes name and that
        moves with the loop; loops inside stand at their first iteration."""
        start: dict[str, Expr] = {inner.var: Const(0) for inner in loops(loop.body)}
        lines: dict[str, None] = {}
        memory = {b.name for b in self.exprs.buffers.values() if b.scope is not Scope.LOCAL}
        for buffer, ahead in filter(None, map(as_prefetch, loop.notes)):
            if buffer not in memory:
                continue
            later = Call("add", (Var(loop.var), Const(ahead)), INDEX)
            for load in loads_below(loop.body, self.loads):
                index = load.indices[0]
                index = index.base if isinstance(index, Ramp) else index
                if load.buffer == buffer and loop.var in variables(index) and index_only(index):
                    index = linear(substitute_expr(index, {**start, loop.var: later})).expr()
                    lines[self.exprs.element(buffer, index)] = None
        if lines and not self.exprs.dialect.prefetch:
            raise CodegenError(f"{self.exprs.dialect.name} has no prefetch; leave the step out")
        for place in lines:
            self.out.line(self.exprs.dialect.prefetch.format(place=place))

    def _parallel(self) -> None:
        dialect = self.exprs.dialect
        if not dialect.parallel:
            raise CodegenError(f"{dialect.name} has no parallel loop; bind it to threads instead")
        self.out.line(dialect.parallel.format(threads=self.threads))

    def _store(self, stmt: Store, declare: bool) -> None:
        exprs, index = self.exprs, stmt.indices[0]
        kind = ""
        if declare:
            kind = f"{exprs.type(exprs.buffers[stmt.buffer].dtype, lanes(index))} "
        if not isinstance(index, Ramp):
            self._assign(stmt, kind + exprs.element(stmt.buffer, index), stmt.value)
        elif index.stride == 1:
            self._assign(stmt, kind + exprs.vector_at(stmt.buffer, index), stmt.value)
        else:
            self._scatter(stmt, index)

    def _assign(self, stmt: Store, place: str, value: Expr) -> None:
        dtype, width = self.exprs.buffers[stmt.buffer].dtype, lanes(value)
        if value.dtype != dtype:
            value = Cast(dtype, value)
        if stmt.reduce in ("add", "mul") and dtype.is_float:
            text = self.exprs.text(value.arg if isinstance(value, Broadcast) else value)
        else:
            text = self.exprs.text(value, PRIMARY if stmt.reduce else 0)
        self._line(stmt.reduce, dtype, width, place, text)

    def _line(self, reduce: str | None, dtype: DType, width: int, place: str, text: str) -> None:
        if reduce is None:
            self.out.line(f"{place} = {text};")
        elif reduce in ("add", "mul") and dtype.is_float:
            self.out.line(f"{place} {'+' if reduce == 'add' else '*'}= {text};")
        else:
            joined = self.exprs.helpers.combine(reduce, dtype, width, place, text)
            self.out.line(f"{place} = {joined};")

    def _scatter(self, stmt: Store, index: Ramp) -> None:
        """A vector to elements that do not stand side by side."""
        dtype = self.exprs.buffers[stmt.buffer].dtype
        value = stmt.value if stmt.value.dtype == dtype else Cast(dtype, stmt.value)
        with self.out.block(""):
            kind = self.exprs.type(dtype, index.lanes)
            self.out.line(f"{kind} {LANES} = {self.exprs.text(value)};")
            for i in range(index.lanes):
                place = self.exprs.element(stmt.buffer, lane(index, i))
                self._line(stmt.reduce, dtype, 1, place, f"{LANES}[{i}]")


def _all_made(value: Expr) -> bool:
    """Whether each access in `value` is made whenever that is computed."""
    return not any(isinstance(e, Select) for e in walk_exprs(value))


def _uses(body: Body, var: str) -> bool:
    return any(var in variables(expr) for stmt in walk(body) for expr in stmt_exprs(stmt))
