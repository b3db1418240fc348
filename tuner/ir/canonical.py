"""The canonical form of a program, and the hash that names a workload.

Two programs that differ only in names, in unused intermediate buffers, or in how a subscript or
a guard is written have the same form. The hash is over the printed form: `w1` is its version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from tuner.ir.affine import (
    Linear,
    Ranges,
    is_index_comparison,
    linear,
    simplify_cond,
    simplify_index,
)
from tuner.ir.nodes import TRUE, Call, Const, Expr, For, If, Load, Program, Select, Stmt, Store
from tuner.ir.show import is_strong, show, show_expr
from tuner.ir.visit import (
    Body,
    loops,
    map_body_exprs,
    map_expr,
    rename,
    rewrite_body,
    stmt_exprs,
    variables,
    walk,
    walk_exprs,
)

#: Version of the canonical form, inside every hash.
VERSION = "w1"
#: The name of every canonical program.
NAME = "program"


def canonicalize(program: Program) -> tuple[Program, dict[str, str]]:
    """The canonical program, and the names it replaced: canonical -> user's, the program's too."""
    body = _simplified(program.body)
    names = _new_names(program, body)
    kept = tuple(b for b in program.locals if b.name in names)
    kept = tuple(sorted(kept, key=lambda b: _number(names[b.name])))
    renamed = rename(Program(NAME, program.params, kept, body), names)
    ordered = map_body_exprs(renamed.body, lambda e: map_expr(e, _in_loop_order))
    canonical = Program(NAME, renamed.params, renamed.locals, _subscripts_in_order(ordered))
    return canonical, {NAME: program.name, **{new: old for old, new in names.items()}}


def workload_hash(canonical: Program) -> str:
    """`w1:` and 128 bits of the SHA-256 of the canonical program's text."""
    return f"{VERSION}:{hashlib.sha256(show(canonical).encode()).hexdigest()[:32]}"


def _simplified(body: Body) -> Body:
    """Subscripts and guards in normal form; what can never run is gone."""
    ranges = {loop.var: loop.extent for loop in loops(body)}
    body = map_body_exprs(body, lambda e: map_expr(e, lambda node: _simplify(node, ranges)))
    return rewrite_body(body, lambda stmt: _simplify_stmt(stmt, ranges))


def _simplify(expr: Expr, ranges: Ranges) -> Expr:
    match expr:
        case Load():
            indices = tuple(simplify_index(i, ranges) for i in expr.indices)
            return Load(expr.buffer, indices, expr.dtype)
        case Select():
            cond = simplify_cond(expr.cond, ranges)
            taken = expr.then if cond == TRUE else expr.other
            # A literal that took the other side's type stays: alone it might be read as another.
            if isinstance(cond, Const) and is_strong(taken):
                return taken
            return Select(cond, expr.then, expr.other)
    return expr


def _simplify_stmt(stmt: Stmt, ranges: Ranges) -> Stmt | Body:
    match stmt:
        case Store():
            indices = tuple(simplify_index(i, ranges) for i in stmt.indices)
            return Store(stmt.buffer, indices, stmt.value, stmt.reduce)
        case If():
            cond = simplify_cond(stmt.cond, ranges)
            if isinstance(cond, Const):
                return stmt.body if cond.value else ()
            return If(cond, stmt.body) if stmt.body else ()
        case For():
            return For(stmt.var, stmt.extent, stmt.kind, stmt.body) if stmt.body else ()
    return stmt


def _new_names(program: Program, body: Body) -> dict[str, str]:
    """Old name -> new name, numbered in order of appearance."""
    buffers = dict.fromkeys((*(b.name for b in program.params), *_appearing(body)))
    names = {name: f"b{n}" for n, name in enumerate(buffers)}
    return names | {loop.var: f"l{n}" for n, loop in enumerate(loops(body))}


def _appearing(body: Body) -> Iterator[str]:
    """Buffers as the text mentions them."""
    for stmt in walk(body):
        if isinstance(stmt, Store):
            yield stmt.buffer
        for expr in stmt_exprs(stmt):
            yield from (e.buffer for e in walk_exprs(expr) if isinstance(e, Load))


def _number(name: str) -> int:
    return int(name[1:])


def _in_loop_order(expr: Expr) -> Expr:
    """Sums of subscripts and of index comparisons, outer loops first."""
    match expr:
        case Load():
            return Load(expr.buffer, tuple(_sorted_sum(i) for i in expr.indices), expr.dtype)
        case Call() if is_index_comparison(expr):
            return Call(expr.op, tuple(_sorted_sum(a) for a in expr.args), expr.dtype)
    return expr


def _subscripts_in_order(body: Body) -> Body:
    def order(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Store):
            return stmt
        indices = tuple(_sorted_sum(i) for i in stmt.indices)
        return Store(stmt.buffer, indices, stmt.value, stmt.reduce)

    return rewrite_body(body, order)


def _sorted_sum(expr: Expr) -> Expr:
    form = linear(expr)
    terms = sorted(form.terms.items(), key=lambda term: _order(term[0]))
    return Linear(dict(terms), form.const).expr()


def _order(atom: Expr) -> tuple[list[int], str]:
    return sorted(map(_number, variables(atom))), show_expr(atom)
