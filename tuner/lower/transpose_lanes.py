"""Columns that straight-line code reads lane by lane come from a transposition in registers.

    y[ramp(0, 1, 4)]  = x[ramp(i, 64, 4)]            x_1[…] = x[ramp(i, 1, 4)]
    y[ramp(4, 1, 4)]  = x[ramp(i + 1, 64, 4)]        x_2[…] = x[ramp(i + 64, 1, 4)]
    y[ramp(8, 1, 4)]  = x[ramp(i + 2, 64, 4)]   ->   x_5[…] = shuffle(x_1[…], x_2[…], (0, 4, 1, 5))
    y[ramp(12, 1, 4)] = x[ramp(i + 3, 64, 4)]        …
                                                     y[ramp(0, 1, 4)] = x_9[…]

That is 4 contiguous loads and 8 shuffles instead of 16 loads and 12 insertions. An element is read
if and only if it was read before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from tuner.ir.affine import Linear, linear
from tuner.ir.nodes import (
    Buffer,
    Const,
    Expr,
    For,
    If,
    Load,
    Program,
    Ramp,
    Scope,
    Shuffle,
    Stmt,
    Store,
)
from tuner.ir.visit import Body, same_or_new, with_body
from tuner.lower.exprs import Loads, map_loads, split_offset
from tuner.lower.names import Names, names_of
from tuner.target import Target

#: bits of the parts of a register within which shuffles are cheapest
_PART = 128


def transpose_lanes(program: Program, target: Target) -> Program:
    """Replaces the strided loads of each run of stores that together are the columns of a square of
    as many rows as a vector has lanes, if the run does not store to that buffer. What a selection
    may skip is left alone, as are squares for which the target has too few registers."""
    local = {b.name for b in program.locals if b.scope is Scope.LOCAL}
    transposer = _Transposer(names_of(program), local, target.vector_registers)
    body = transposer.body(program.body)
    return replace(program, locals=(*program.locals, *transposer.variables), body=body)


@dataclass(frozen=True, slots=True)
class _Square:
    """The columns of one square, by number, and the statement that uses one of them first."""

    columns: tuple[Load, ...]
    first_use: int


class _Transposer:
    def __init__(self, names: Names, skipped: set[str], registers: int) -> None:
        self.names, self.skipped, self.registers = names, skipped, registers
        self.loads = Loads(selected=False)
        self.variables: list[Buffer] = []

    def body(self, body: Body) -> Body:
        out: list[Stmt] = []
        run: list[Store] = []
        for stmt in body:
            if isinstance(stmt, Store):
                run.append(stmt)
                continue
            out.extend(self.run(run))
            run = []
            out.append(
                with_body(stmt, self.body(stmt.body)) if isinstance(stmt, For | If) else stmt
            )
        out.extend(self.run(run))
        return same_or_new(body, tuple(out))

    def run(self, run: list[Store]) -> Iterator[Stmt]:
        """`run` with the rows of each square loaded and transposed before its first use."""
        squares = self.squares(run)
        if not squares:
            yield from run
            return
        columns: dict[Load, Load] = {}
        before: dict[int, list[Store]] = {}
        for square in squares:
            stores, transposed = self.transposed(square.columns)
            before.setdefault(square.first_use, []).extend(stores)
            columns.update(zip(square.columns, transposed, strict=True))
        reading = map_loads(lambda load: columns.get(load, load))
        for number, stmt in enumerate(run):
            yield from before.get(number, ())
            value = reading(stmt.value)
            yield stmt if value is stmt.value else replace(stmt, value=value)

    def squares(self, run: list[Store]) -> list[_Square]:
        written = {stmt.buffer for stmt in run} | self.skipped
        #: the loads that differ in a constant only, by it, with the number of their first use
        alike: dict[tuple[object, ...], dict[int, tuple[Load, int]]] = {}
        for number, stmt in enumerate(run):
            for load in self.loads.of(stmt.value):
                if load.buffer not in written and self.is_column(load):
                    ramp = load.indices[0]
                    assert isinstance(ramp, Ramp)
                    moving, const = split_offset(ramp.base)
                    key = (load.buffer, ramp.stride, ramp.lanes, moving)
                    alike.setdefault(key, {}).setdefault(const, (load, number))
        return [square for found in alike.values() for square in _squares(found)]

    def is_column(self, load: Load) -> bool:
        """Whether a square of such loads fits into the registers."""
        match load.indices[0]:
            case Ramp(_, stride, lanes):
                return stride not in (0, 1) and lanes < self.registers and lanes & (lanes - 1) == 0
        return False

    def transposed(self, columns: tuple[Load, ...]) -> tuple[list[Store], list[Load]]:
        """The stores that bring `columns` into variables, and the loads of those."""
        ramp, dtype = columns[0].indices[0], columns[0].dtype
        assert isinstance(ramp, Ramp)
        stores: list[Store] = []

        def kept(value: Expr) -> Load:
            name = self.names.fresh(columns[0].buffer)
            self.variables.append(Buffer(name, dtype, (ramp.lanes,), Scope.LOCAL))
            variable = Load(name, (Ramp(Const(0), 1, ramp.lanes),), dtype)
            stores.append(Store(name, variable.indices, value))
            return variable

        start = linear(ramp.base)
        rows = [start.plus(Linear({}, ramp.stride * row)).expr() for row in range(ramp.lanes)]
        held = [kept(replace(columns[0], indices=(Ramp(r, 1, ramp.lanes),))) for r in rows]
        rounds, order = _network(ramp.lanes, _PART // dtype.bits)
        for exchange in rounds:
            for a, b in exchange.pairs:
                first, second = held[a], held[b]
                held[a] = kept(Shuffle(first, second, exchange.low))
                held[b] = kept(Shuffle(first, second, exchange.high))
        return stores, [held[place] for place in order]


def _squares(found: dict[int, tuple[Load, int]]) -> Iterator[_Square]:
    """The squares among loads that are alike, by the constant in which they differ."""
    start: int | None = None
    for const in sorted(found):
        if start is None or const - 1 not in found:
            start = const
        ramp = found[const][0].indices[0]
        assert isinstance(ramp, Ramp)
        if const - start == ramp.lanes - 1:
            columns, uses = zip(*(found[c] for c in range(start, const + 1)), strict=True)
            yield _Square(columns, min(uses))
            start = const + 1


@dataclass(frozen=True, slots=True)
class _Round:
    """Registers that exchange halves: the first of each pair keeps `low`, the second `high`."""

    pairs: tuple[tuple[int, int], ...]
    low: tuple[int, ...]
    high: tuple[int, ...]


@cache
def _network(lanes: int, part: int) -> tuple[tuple[_Round, ...], tuple[int, ...]]:
    """The rounds that transpose `lanes` registers, and where each column is after them.

    First, within each part of a register (`part` lanes), elements, then pairs, then fours … of two
    registers are interleaved; then whole parts are exchanged.
    """
    part = min(part, lanes)
    rounds = []
    size = 1
    while size < lanes:
        if size < part:
            low = _interleaved(lanes, part, size)
            high = tuple(pick + part // 2 for pick in low)
        else:
            places = [p for p in range(2 * lanes) if p // part % 2 == 0]
            low, high = tuple(places), tuple(p + part for p in places)
        pairs = tuple((i, i + size) for i in range(lanes) if not i & size)
        rounds.append(_Round(pairs, low, high))
        size *= 2
    return tuple(rounds), _order(lanes, rounds)


def _interleaved(lanes: int, part: int, size: int) -> tuple[int, ...]:
    """The low half of each part of two registers, `size` elements of each in turn."""
    return tuple(
        start + block + side * lanes + element
        for start in range(0, lanes, part)
        for block in range(0, part // 2, size)
        for side in (0, 1)
        for element in range(size)
    )


def _order(lanes: int, rounds: list[_Round]) -> tuple[int, ...]:
    """For each column, the register that holds it when rows have gone through `rounds`."""
    held = [tuple((row, column) for column in range(lanes)) for row in range(lanes)]
    for exchange in rounds:
        for a, b in exchange.pairs:
            both = held[a] + held[b]
            held[a] = tuple(both[pick] for pick in exchange.low)
            held[b] = tuple(both[pick] for pick in exchange.high)
    return tuple(held.index(tuple((r, c) for r in range(lanes))) for c in range(lanes))
