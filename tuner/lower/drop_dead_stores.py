"""Local elements that nothing reads are not computed.

Tails of tiles leave some: lanes outside the domain are accumulated, and never written back.
"""

from __future__ import annotations

from dataclasses import replace

from tuner.ir.nodes import For, If, Program, Scope, Stmt, Store
from tuner.ir.visit import Body, rewrite_body
from tuner.lower.dataflow import loads_below
from tuner.lower.exprs import Loads
from tuner.lower.names import used_buffers
from tuner.target import Target


def drop_dead_stores(program: Program, target: Target) -> Program:
    """Removes LOCAL buffers without a load, the stores to them, and loops left empty."""
    del target
    body, local = program.body, {b.name for b in program.locals if b.scope is Scope.LOCAL}
    loads = Loads()
    while dead := local - {load.buffer for load in loads_below(body, loads)}:
        body = _without(body, dead)
        local -= dead
    kept = local | {b.name for b in program.locals if b.scope is not Scope.LOCAL}
    return replace(program, locals=used_buffers(program.locals, kept), body=body)


def _without(body: Body, dead: set[str]) -> Body:
    def in_stmt(stmt: Stmt) -> Stmt | Body:
        match stmt:
            case Store():
                return () if stmt.buffer in dead else stmt
            case For() | If():
                return stmt if stmt.body else ()
        return stmt

    return rewrite_body(body, in_stmt)
