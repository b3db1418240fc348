"""Bound loops become blocks and threads: one kernel for each top-level statement.

    for b in bound(4, "blockIdx.x"):              for b in bound(4, "blockIdx.x"):
        for t in bound(16, "threadIdx.x"):            for t in bound(16, "threadIdx.x"):
            s[t] = x[b * 16 + t]                          s[t] = x[b * 16 + t]
        for u in bound(8, "threadIdx.x"):     ->      for u in bound(16, "threadIdx.x"):
            y[b * 8 + u] = s[u] + s[u + 8]                if u < 8:
                                                              y[b * 8 + u] = s[u] + s[u + 8]

Afterwards loops over blocks come first in a kernel, if only one over a single block, and all that a
block does stands in loops over
all of its threads; what no loop over threads held is for the first thread to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tuner.dtypes import BOOL
from tuner.errors import CodegenError
from tuner.ir.affine import all_of
from tuner.ir.nodes import Call, Const, Expr, For, If, LoopKind, Program, Scope, Stmt, Var
from tuner.ir.visit import Body, loops, with_body
from tuner.lower.dataflow import buffers_touched
from tuner.lower.launch import Launch, block_body, launch_of, threads_alone
from tuner.lower.names import Names, names_of
from tuner.target import Target

_THREADS = (LoopKind.THREAD_X, LoopKind.THREAD_Y, LoopKind.THREAD_Z)


def bind_threads(program: Program, target: Target) -> Program:
    """Loops over threads all span the block. Raises CodegenError where a kernel is beyond a limit
    of the target or its loops cannot be a grid."""
    if not target.has_blocks:
        return program
    binder = _Binder(names_of(program))
    body: list[Stmt] = []
    for stmt in program.body:
        launch = launch_of(stmt)
        _check_limits(program, stmt, launch, target)
        body.append(binder.kernel(stmt, launch))
    return replace(program, body=tuple(body))


def _check_limits(program: Program, stmt: Stmt, launch: Launch, target: Target) -> None:
    if launch.threads > target.block_threads:
        raise CodegenError(
            f"a block of {' x '.join(map(str, launch.block))} = {launch.threads} threads; "
            f"{target.name} has at most {target.block_threads}: bind shorter loops"
        )
    touched = buffers_touched((stmt,))
    shared = [b for b in program.locals if b.scope is Scope.SHARED and b.name in touched]
    size = sum(b.bytes for b in shared)
    if size > target.shared_bytes:
        raise CodegenError(
            f"{', '.join(b.name for b in shared)} need {size} bytes of shared memory; "
            f"{target.name} has {target.shared_bytes} for one block: use smaller tiles"
        )


@dataclass(frozen=True, slots=True)
class _Binder:
    names: Names

    def kernel(self, stmt: Stmt, launch: Launch) -> Stmt:
        blocks, body = block_body(stmt)
        for loop in (f for s in body for f in loops((s,))):
            if loop.kind.is_block:
                raise CodegenError(
                    f"loop {loop.var!r} is bound to {loop.kind}, but more than loops over blocks "
                    f"stands around it: reorder it to the top, or bind the loops around it"
                )
        body = self.block(body, launch)
        blocks = blocks or (For(self.names.fresh("block"), 1, LoopKind.BLOCK_X, ()),)
        for loop in reversed(blocks):
            body = (replace(loop, body=body),)
        return body[0]

    def block(self, body: Body, launch: Launch) -> Body:
        """What a block does, outside of loops over threads."""
        out: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, For | If) and not threads_alone(stmt):
                out.append(with_body(stmt, self.block(stmt.body, launch)))
            elif launch.threads == 1:
                out.append(stmt)
            else:
                out.append(self.region(stmt, launch))
        return tuple(out)

    def region(self, stmt: Stmt, launch: Launch) -> Stmt:
        """`stmt` below loops over all threads of the block."""
        found: list[For] = []
        body: Body = (stmt,)
        while len(body) == 1 and isinstance(body[0], For) and body[0].kind.is_thread:
            found.append(body[0])
            body = body[0].body
        for loop in (f for s in body for f in loops((s,))):
            if loop.kind.is_thread:
                raise CodegenError(
                    f"loop {loop.var!r} is bound to {loop.kind} inside {found[0].var!r}, but not "
                    f"directly: loops over threads stand one in the other with nothing between"
                )
        return self.spread(found, body, launch)

    def spread(self, found: Sequence[For], body: Body, launch: Launch) -> Stmt:
        conds: list[Expr] = []
        spread = [replace(f, extent=launch.block[f.kind.dimension]) for f in found]
        for old, new in zip(found, spread, strict=True):
            if new.extent > old.extent:
                conds.append(_below(old.var, old.extent))
        for kind in _THREADS:
            extent = launch.block[kind.dimension]
            if extent > 1 and all(f.kind is not kind for f in found):
                name = self.names.fresh("thread")
                spread.insert(0, For(name, extent, kind, ()))
                conds.append(_below(name, 1))
        if conds:
            body = (If(all_of(tuple(conds)), body),)
        for loop in reversed(spread):
            body = (replace(loop, body=body),)
        return body[0]


def _below(name: str, extent: int) -> Expr:
    return Call("lt", (Var(name), Const(extent)), BOOL)
