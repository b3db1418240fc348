"""The threads of a block wait for each other where one may touch what another has touched.

    for t in bound(16, "threadIdx.x"):            for t in bound(16, "threadIdx.x"):
        s[t] = x[t]                                   s[t] = x[t]
    for u in bound(16, "threadIdx.x"):     ->     barrier()
        y[u] = s[15 - u]                          for u in bound(16, "threadIdx.x"):
                                                      y[u] = s[15 - u]

Each element of memory counts as touched by any thread of a loop that touches its buffer, so there
may be a barrier too many, never one too few. All threads come by each barrier: it stands outside
of loops over threads, below conditions and loops that are the same for the whole block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tuner.ir.nodes import Barrier, For, If, Program, Scope, Stmt, Store
from tuner.ir.visit import Body, loads, walk
from tuner.lower.launch import block_body, launch_of, threads_alone
from tuner.target import Target


@dataclass(frozen=True, slots=True)
class _Touched:
    """Buffers that are read and written between two barriers."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()

    def __or__(self, other: _Touched) -> _Touched:
        return _Touched(self.reads | other.reads, self.writes | other.writes)

    def meets(self, later: _Touched) -> bool:
        """Whether `later` has to wait for it."""
        return bool(self.writes & (later.reads | later.writes) or self.reads & later.writes)


def insert_barriers(program: Program, target: Target) -> Program:
    """Puts barriers into the kernels whose blocks have several threads."""
    if not target.has_blocks:
        return program
    own = frozenset(b.name for b in program.locals if b.scope is Scope.LOCAL)
    body = tuple(_kernel(stmt, own) for stmt in program.body)
    return replace(program, body=body)


def _kernel(stmt: Stmt, own: frozenset[str]) -> Stmt:
    if launch_of(stmt).threads == 1:
        return stmt
    blocks, body = block_body(stmt)
    body, _ = _in_body(body, _Touched(), own)
    for loop in reversed(blocks):
        body = (replace(loop, body=body),)
    return body[0]


def _in_body(body: Body, before: _Touched, own: frozenset[str]) -> tuple[Body, _Touched]:
    """`body` with barriers, and what was touched since the last one. `before` is what was touched
    since the last barrier ahead of it; `own` are each thread's own buffers."""
    out: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Barrier):
            before = _Touched()
            out.append(stmt)
        elif threads_alone(stmt):
            here = _touched((stmt,), own)
            if before.meets(here):
                out.append(Barrier())
                before = _Touched()
            before |= here
            out.append(stmt)
        elif isinstance(stmt, For):
            inner, before = _in_loop(stmt, before, own)
            out.append(inner)
        elif isinstance(stmt, If):
            before |= _touched((If(stmt.cond, ()),), own)
            inner_body, after = _in_body(stmt.body, before, own)
            before |= after
            out.append(If(stmt.cond, inner_body))
    return tuple(out), before


def _in_loop(loop: For, before: _Touched, own: frozenset[str]) -> tuple[For, _Touched]:
    """A loop of the whole block: one iteration follows the other."""
    body, after = _in_body(loop.body, before, own)
    again, _ = _in_body(body, after, own)
    if again != body:
        # The next iteration would have to wait for this one.
        body, after = (*body, Barrier()), _Touched()
    return replace(loop, body=body), after


def _touched(body: Body, own: frozenset[str]) -> _Touched:
    stores = [s for s in walk(body) if isinstance(s, Store)]
    accumulated = {s.buffer for s in stores if s.reduce}
    reads = frozenset({load.buffer for load in loads(body)} | accumulated) - own
    return _Touched(reads, frozenset(s.buffer for s in stores) - own)
