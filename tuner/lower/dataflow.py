"""Which buffers are written before they are read, each time some code runs.

Works on flattened programs: an access is the interval that its one subscript covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from tuner.ir.affine import Linear, Ranges, linear, linear_bounds
from tuner.ir.nodes import Expr, For, If, Load, Stmt, Store, Var
from tuner.ir.visit import Body, stmt_exprs, walk
from tuner.lower.exprs import Loads

#: half-open ranges of offsets, sorted and apart
_Intervals = tuple[tuple[int, int], ...]
_State = dict[str, _Intervals]
_Exact = frozenset[tuple[str, Expr]]


def buffers_touched(body: Body) -> set[str]:
    """Names of the buffers that `body` reads or writes."""
    return set().union(*Touched(Loads()).of_each(body))


class Touched:
    """Names of the buffers that statements read or write, found once for each statement."""

    def __init__(self, loads: Loads) -> None:
        self.loads = loads
        #: by identity; the statement is kept so that its identity is not given to another
        self._known: dict[int, tuple[Stmt, frozenset[str]]] = {}

    def of_each(self, body: Body) -> list[frozenset[str]]:
        """The names for each statement of `body`."""
        return [self.of(stmt) for stmt in body]

    def of(self, stmt: Stmt) -> frozenset[str]:
        """The names for `stmt` and all below it."""
        if (found := self._known.get(id(stmt))) is not None:
            return found[1]
        loads = self.loads.of
        names = {load.buffer for expr in stmt_exprs(stmt) for load in loads(expr)}
        if isinstance(stmt, Store):
            names.add(stmt.buffer)
        elif isinstance(stmt, For | If):
            names.update(*self.of_each(stmt.body))
        return self._known.setdefault(id(stmt), (stmt, frozenset(names)))[1]


def loads_below(body: Body, loads: Loads) -> Iterator[Load]:
    """Every load in `body`; the reads that accumulating stores imply are not listed."""
    for stmt in walk(body):
        for expr in stmt_exprs(stmt):
            yield from loads.of(expr)


def read_before_written(body: Body, buffers: Set[str], touched: Touched) -> set[str]:
    """Those of `buffers` of which `body` may read an element that it has not assigned before.
    Sound, not complete: an assignment counts where nothing guards it and its subscripts, over the
    loops inside `body`, cover an interval without a gap."""
    failed: set[str] = set()
    _scan(body, {}, {}, frozenset(), _Scan(buffers, failed, touched))
    return failed


class _Scan:
    """What one walk looks for, and what it found."""

    def __init__(self, buffers: Set[str], failed: set[str], touched: Touched) -> None:
        self.buffers, self.failed, self.touched = buffers, failed, touched

    def read(self, name: str, index: Expr, ranges: Ranges, state: _State, exact: _Exact) -> None:
        if name not in self.buffers or name in self.failed or (name, index) in exact:
            return
        form = linear(index)
        if not _closed(form, ranges):
            self.failed.add(name)
            return
        low, high = linear_bounds(form, ranges)
        if not any(a <= low and high < b for a, b in state.get(name, ())):
            self.failed.add(name)


def _scan(body: Body, ranges: Ranges, state: _State, exact: _Exact, scan: _Scan) -> None:
    """Walks `body` in program order. `state` holds what is wholly written so far and is extended;
    `exact` the elements that this very iteration has written."""
    for stmt in body:
        if scan.touched.of(stmt).isdisjoint(scan.buffers):
            continue
        match stmt:
            case For():
                inner = {**ranges, stmt.var: stmt.extent}
                _scan(stmt.body, inner, dict(state), exact, scan)
                _add_intervals(stmt, state, scan.buffers)
            case If():
                _read_all((stmt.cond,), ranges, state, exact, scan)
                _scan(stmt.body, ranges, dict(state), exact, scan)
            case Store():
                index = stmt.indices[0]
                _read_all((stmt.value, index), ranges, state, exact, scan)
                if stmt.reduce:
                    scan.read(stmt.buffer, index, ranges, state, exact)
                elif stmt.buffer in scan.buffers:
                    exact |= {(stmt.buffer, index)}
                    _add_interval(stmt, {}, state)


def _read_all(
    exprs: Iterable[Expr], ranges: Ranges, state: _State, exact: _Exact, scan: _Scan
) -> None:
    for expr in exprs:
        for load in scan.touched.loads.of(expr):
            scan.read(load.buffer, load.indices[0], ranges, state, exact)


def _add_intervals(loop: For, state: _State, buffers: Set[str]) -> None:
    """Adds what the assignments under `loop`, unguarded and whole, have written."""

    def visit(body: Body, ranges: Ranges) -> None:
        for stmt in body:
            if isinstance(stmt, For):
                visit(stmt.body, {**ranges, stmt.var: stmt.extent})
            elif isinstance(stmt, Store) and stmt.reduce is None and stmt.buffer in buffers:
                _add_interval(stmt, ranges, state)

    visit((loop,), {})


def _add_interval(store: Store, ranges: Ranges, state: _State) -> None:
    form = linear(store.indices[0])
    if _closed(form, ranges) and _dense(form, ranges):
        low, high = linear_bounds(form, ranges)
        state[store.buffer] = _united(state.get(store.buffer, ()), (low, high + 1))


def _closed(form: Linear, ranges: Ranges) -> bool:
    return all(isinstance(a, Var) and a.name in ranges for a in form.terms)


def _dense(form: Linear, ranges: Ranges) -> bool:
    """Whether the values of `form` have no gap: each coefficient is at most the span below it."""
    span = 1
    for atom, factor in sorted(form.terms.items(), key=lambda t: abs(t[1])):
        assert isinstance(atom, Var)
        if abs(factor) > span:
            return False
        span += abs(factor) * (ranges[atom.name] - 1)
    return True


def _united(intervals: _Intervals, new: tuple[int, int]) -> _Intervals:
    out: list[tuple[int, int]] = []
    for low, high in sorted((*intervals, new)):
        if out and low <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], high))
        else:
            out.append((low, high))
    return tuple(out)
