"""On a target with one thread parallel loops are plain ones: a team of one takes the iterations in
order."""

from __future__ import annotations

from dataclasses import replace

from tuner.ir.nodes import For, LoopKind, Program, Stmt
from tuner.ir.visit import rewrite_body
from tuner.target import Target


def threads(program: Program, target: Target) -> Program:
    """Parallel loops stay only where the target has threads to run them."""
    if target.threads > 1:
        return program
    return replace(program, body=rewrite_body(program.body, _alone))


def _alone(stmt: Stmt) -> Stmt:
    if isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL:
        return replace(stmt, kind=LoopKind.SERIAL)
    return stmt
