"""What is legal after each pass, as code; tests run it between passes."""

from __future__ import annotations

from collections.abc import Collection

from tuner.errors import StageError
from tuner.ir.nodes import (
    Broadcast,
    Expr,
    For,
    If,
    Load,
    LoopKind,
    Program,
    Ramp,
    Reduce,
    Scope,
    Shuffle,
    Store,
)
from tuner.ir.visit import Body, loops, stmt_exprs, variables, walk_exprs
from tuner.lower.dataflow import buffers_touched
from tuner.lower.exprs import lanes


def verify_stage(program: Program, done: Collection[str]) -> None:
    """Raises StageError unless `program` is legal after the passes named in `done`."""
    _names_are_unique(program)
    _in_body(program.body, frozenset(), done)
    missing = buffers_touched(program.body) - {b.name for b in program.buffers()}
    if missing:
        raise StageError(f"buffers without a declaration: {', '.join(sorted(missing))}")
    if "place_buffers" in done:
        _locals_fit(program)


def _names_are_unique(program: Program) -> None:
    names = [b.name for b in program.buffers()] + [loop.var for loop in loops(program.body)]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise StageError(f"names that stand for two things: {', '.join(twice)}")


def _locals_fit(program: Program) -> None:
    for buffer in program.locals:
        if buffer.scope is Scope.LOCAL and buffer.bytes > 64 << 10:
            raise StageError(f"{buffer.name} has {buffer.bytes} bytes, too large for the stack")


def _in_body(body: Body, scope: frozenset[str], done: Collection[str]) -> None:
    for stmt in body:
        for expr in stmt_exprs(stmt):
            _in_expr(expr, scope, done)
        match stmt:
            case For():
                _in_loop(stmt, done)
                _in_body(stmt.body, scope | {stmt.var}, done)
            case If():
                _in_body(stmt.body, scope, done)
            case Store():
                _in_store(stmt, done)


def _in_loop(loop: For, done: Collection[str]) -> None:
    if loop.extent < 1 or not loop.body:
        raise StageError(f"loop {loop.var} does nothing")
    for kind, gone in ((LoopKind.VECTORIZED, "vectorize"), (LoopKind.UNROLLED, "unroll")):
        if loop.kind is kind and gone in done:
            raise StageError(f"loop {loop.var} is still {kind} after {gone}")


def _in_expr(expr: Expr, scope: frozenset[str], done: Collection[str]) -> None:
    if unknown := variables(expr) - scope:
        raise StageError(f"loop variables outside their loops: {', '.join(sorted(unknown))}")
    for node in walk_exprs(expr):
        if isinstance(node, Ramp | Broadcast | Reduce) and "vectorize" not in done:
            raise StageError(f"lanes before vectorize: {node}")
        if isinstance(node, Shuffle):
            _in_shuffle(node, done)
        if isinstance(node, Load) and "flatten" in done and len(node.indices) != 1:
            raise StageError(f"{node.buffer} has {len(node.indices)} subscripts after flatten")


def _in_shuffle(shuffle: Shuffle, done: Collection[str]) -> None:
    if "transpose_lanes" not in done:
        raise StageError(f"a shuffle before transpose_lanes: {shuffle}")
    width = lanes(shuffle.first)
    if lanes(shuffle.second) != width or not all(0 <= p < 2 * width for p in shuffle.picks):
        raise StageError(f"a shuffle picks from what its operands do not have: {shuffle}")


def _in_store(store: Store, done: Collection[str]) -> None:
    if "flatten" not in done:
        return
    if len(store.indices) != 1:
        raise StageError(f"{store.buffer} has {len(store.indices)} subscripts after flatten")
    if lanes(store.indices[0]) != lanes(store.value):
        raise StageError(f"a value of other lanes than its place in {store.buffer}: {store}")
