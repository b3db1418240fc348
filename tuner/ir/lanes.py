"""Which loops the interpreter may run as numpy lanes: a cheap, sufficient, sound test."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.ir.affine import Linear, linear, linear_bounds
from tuner.ir.nodes import Expr, For, Store, Var
from tuner.ir.visit import Body, loads, loops, stores, variables


def classify(body: Body) -> dict[int, frozenset[str] | None]:
    """For each loop below `body`, by the id of its node: None if it must run serially, else the
    buffers that all its iterations accumulate into; whatever else they write is apart."""
    extents = {loop.var: loop.extent for loop in loops(body)}
    return {id(loop): _accumulated(loop, extents) for loop in loops(body)}


def _accumulated(loop: For, extents: Mapping[str, int]) -> frozenset[str] | None:
    inside = {inner.var: inner.extent for inner in loops((loop,))}
    read = list(loads(loop.body))
    accumulated = set()
    for buffer in {s.buffer for s in stores(loop.body)}:
        written = [s for s in stores(loop.body) if s.buffer == buffer]
        reads = [a.indices for a in read if a.buffer == buffer]
        if _disjoint(loop.var, [*(s.indices for s in written), *reads], inside, extents):
            continue
        if reads or not _is_reduction(loop.var, written):
            return None
        accumulated.add(buffer)
    return frozenset(accumulated)


def _is_reduction(var: str, written: list[Store]) -> bool:
    """Whether these stores accumulate, all alike, into places that do not move with `var`."""
    moving = {v for store in written for index in store.indices for v in variables(index)}
    reducers = {store.reduce for store in written}
    return len(reducers) == 1 and None not in reducers and var not in moving


def _disjoint(
    var: str,
    accesses: list[tuple[Expr, ...]],
    inside: Mapping[str, int],
    extents: Mapping[str, int],
) -> bool:
    """Whether in some dimension different values of `var` always give different subscripts."""
    if len({len(indices) for indices in accesses}) != 1:
        return False
    return any(
        _dimension_disjoint(var, [linear(i) for i in dimension], inside, extents)
        for dimension in zip(*accesses, strict=True)
    )


def _dimension_disjoint(
    var: str, forms: list[Linear], inside: Mapping[str, int], extents: Mapping[str, int]
) -> bool:
    """All forms are c * var + the same outer part + something that spans less than |c|."""
    step = forms[0].coefficient(var)
    outer, lows, highs = None, [], []
    for form in forms:
        if form.coefficient(var) != step:
            return False
        rest = {a: c for a, c in form.terms.items() if a != Var(var)}
        fixed = {a: c for a, c in rest.items() if isinstance(a, Var) and a.name not in inside}
        if outer is not None and fixed != outer:
            return False
        outer = fixed
        moving = Linear({a: c for a, c in rest.items() if a not in fixed}, form.const)
        low, high = linear_bounds(moving, extents)
        lows.append(low)
        highs.append(high)
    return max(highs) - min(lows) < abs(step)
