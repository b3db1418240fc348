"""Walking and rewriting. Every rewrite returns the same object where nothing changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from operator import is_
from typing import TypeVar

from tuner.ir.nodes import (
    Broadcast,
    Call,
    Cast,
    Const,
    Expr,
    For,
    If,
    Load,
    LoopKind,
    Program,
    Ramp,
    Reduce,
    Scope,
    Select,
    Shuffle,
    Stmt,
    Store,
    Var,
)

Body = tuple[Stmt, ...]
T = TypeVar("T")
S = TypeVar("S", bound=For | If)
_WITH_ARG = (Broadcast, Cast, Reduce)


def expr_children(expr: Expr) -> tuple[Expr, ...]:
    """The direct operands of `expr`. The kinds that programs hold most of are asked for first."""
    kind = type(expr)
    if kind is Const or kind is Var:
        return ()
    if isinstance(expr, Call):
        return expr.args
    if isinstance(expr, Load):
        return expr.indices
    if isinstance(expr, _WITH_ARG):
        return (expr.arg,)
    if isinstance(expr, Ramp):
        return (expr.base,)
    if isinstance(expr, Shuffle):
        return (expr.first, expr.second)
    return (expr.cond, expr.then, expr.other) if isinstance(expr, Select) else ()


def with_children(expr: Expr, new: tuple[Expr, ...]) -> Expr:
    """`expr` with other operands."""
    match expr:
        case Call():
            return Call(expr.op, new, expr.dtype)
        case Load():
            return Load(expr.buffer, new, expr.dtype)
        case Broadcast():
            return Broadcast(new[0], expr.lanes)
        case Ramp():
            return Ramp(new[0], expr.stride, expr.lanes)
        case Select():
            return Select(*new)
        case Cast():
            return Cast(expr.dtype, new[0])
        case Reduce():
            return Reduce(expr.op, new[0])
        case Shuffle():
            return Shuffle(new[0], new[1], expr.picks)
    return expr


def map_children(expr: Expr, fn: Callable[[Expr], Expr]) -> Expr:
    """`fn` applied to the direct operands of `expr`."""
    old = expr_children(expr)
    new = tuple([fn(child) for child in old])
    return expr if all(map(is_, old, new)) else with_children(expr, new)


def map_expr(expr: Expr, fn: Callable[[Expr], Expr]) -> Expr:
    """`fn` applied bottom-up to every node of `expr`."""

    def step(expr: Expr) -> Expr:
        return fn(map_children(expr, step)) if expr_children(expr) else fn(expr)

    return step(expr)


def map_body_exprs(body: Body, fn: Callable[[Expr], Expr]) -> Body:
    """`fn` applied to every outermost expression (condition, subscript, value) below `body`."""
    return same_or_new(body, tuple(_map_stmt_exprs(s, fn) for s in body))


def _map_stmt_exprs(stmt: Stmt, fn: Callable[[Expr], Expr]) -> Stmt:
    match stmt:
        case For():
            return with_body(stmt, map_body_exprs(stmt.body, fn))
        case If():
            cond, body = fn(stmt.cond), map_body_exprs(stmt.body, fn)
            return stmt if cond is stmt.cond and body is stmt.body else If(cond, body)
        case Store():
            indices = same_or_new(stmt.indices, tuple(fn(i) for i in stmt.indices))
            value = fn(stmt.value)
            if indices is stmt.indices and value is stmt.value:
                return stmt
            return Store(stmt.buffer, indices, value, stmt.reduce)
    return stmt


def same_or_new(old: tuple[T, ...], new: tuple[T, ...]) -> tuple[T, ...]:
    """`old` itself if `new` holds the very same objects."""
    return old if len(old) == len(new) and all(map(is_, old, new)) else new


def with_body(stmt: S, body: Body) -> S:
    """`stmt` around another body."""
    return stmt if body is stmt.body else replace(stmt, body=body)


def rewrite_body(body: Body, fn: Callable[[Stmt], Stmt | Body]) -> Body:
    """`fn` applied bottom-up to every statement; it may return several or none, as a tuple."""
    out: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For | If):
            stmt = with_body(stmt, rewrite_body(stmt.body, fn))
        result = fn(stmt)
        out.extend(result if isinstance(result, tuple) else (result,))
    return same_or_new(body, tuple(out))


def walk_exprs(expr: Expr) -> Iterator[Expr]:
    """`expr` and everything below it, parents first."""
    yield expr
    for child in expr_children(expr):
        yield from walk_exprs(child)


def walk(body: Body) -> Iterator[Stmt]:
    """Every statement below `body` in program order, parents first."""
    left = list(reversed(body))
    while left:
        stmt = left.pop()
        yield stmt
        if isinstance(stmt, (For, If)):
            left.extend(reversed(stmt.body))


def stmt_exprs(stmt: Stmt) -> tuple[Expr, ...]:
    """The outermost expressions that `stmt` itself holds."""
    match stmt:
        case If():
            return (stmt.cond,)
        case Store():
            return (*stmt.indices, stmt.value)
    return ()


def loads(body: Body) -> Iterator[Load]:
    """Every load below `body`; the reads that accumulating stores imply are not listed."""
    for stmt in walk(body):
        for expr in stmt_exprs(stmt):
            for node in walk_exprs(expr):
                if isinstance(node, Load):
                    yield node


def stores(body: Body) -> Iterator[Store]:
    """Every store below `body`, in program order."""
    return (s for s in walk(body) if isinstance(s, Store))


def loops(body: Body) -> Iterator[For]:
    """Every loop below `body`, outer first."""
    return (s for s in walk(body) if isinstance(s, For))


def variables(expr: Expr) -> set[str]:
    """Names of the loop variables that `expr` reads."""
    return {e.name for e in walk_exprs(expr) if isinstance(e, Var)}


def substitute(body: Body, values: Mapping[str, Expr]) -> Body:
    """`body` with loop variables replaced by expressions."""
    return map_body_exprs(body, lambda e: substitute_expr(e, values))


def substitute_expr(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """`expr` with loop variables replaced by expressions."""
    return map_expr(expr, lambda e: values.get(e.name, e) if isinstance(e, Var) else e)


def rename(program: Program, names: Mapping[str, str]) -> Program:
    """`program` with loops and buffers renamed; names not in `names` stay."""

    def in_expr(expr: Expr) -> Expr:
        match expr:
            case Var(name) if name in names:
                return Var(names[name])
            case Load() if expr.buffer in names:
                return replace(expr, buffer=names[expr.buffer])
        return expr

    def in_stmt(stmt: Stmt) -> Stmt:
        match stmt:
            case For() if stmt.var in names:
                return replace(stmt, var=names[stmt.var])
            case Store() if stmt.buffer in names:
                return replace(stmt, buffer=names[stmt.buffer])
        return stmt

    body = map_body_exprs(program.body, lambda e: map_expr(e, in_expr))
    return Program(
        program.name,
        tuple(replace(b, name=names.get(b.name, b.name)) for b in program.params),
        tuple(replace(b, name=names.get(b.name, b.name)) for b in program.locals),
        rewrite_body(body, in_stmt),
    )


def unbound(program: Program) -> Program:
    """`program` with serial loops for those over blocks and threads, and with the workspace for
    what a block shares: it means the same."""

    def in_stmt(stmt: Stmt) -> Stmt:
        if isinstance(stmt, For) and stmt.kind.is_bound:
            return replace(stmt, kind=LoopKind.SERIAL)
        return stmt

    kept = tuple(
        replace(b, scope=Scope.GLOBAL) if b.scope is Scope.SHARED else b for b in program.locals
    )
    return replace(program, locals=kept, body=rewrite_body(program.body, in_stmt))


def outputs(program: Program) -> tuple[str, ...]:
    """Names of the parameters that the program writes, in call order."""
    written = {s.buffer for s in stores(program.body)}
    return tuple(b.name for b in program.params if b.name in written)


def is_const(expr: Expr, value: object = None) -> bool:
    """Whether `expr` is a literal (equal to `value`, if one is given)."""
    return isinstance(expr, Const) and (value is None or expr.value == value)
