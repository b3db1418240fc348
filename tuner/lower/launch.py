"""The kernels of a program for targets with blocks: each top-level statement is one."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.ir.nodes import For, If, Stmt
from tuner.ir.visit import Body, loops

#: Extents along x, y and z.
Size3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Launch:
    """How many blocks a kernel has, and how many threads each of them."""

    grid: Size3
    block: Size3

    @property
    def threads(self) -> int:
        """Threads in one block."""
        x, y, z = self.block
        return x * y * z


def launch_of(stmt: Stmt) -> Launch:
    """The launch of the kernel that `stmt` is: along each axis its largest bound loop."""
    grid, block = [1, 1, 1], [1, 1, 1]
    for loop in loops((stmt,)):
        if loop.kind.is_bound:
            sizes = grid if loop.kind.is_block else block
            sizes[loop.kind.dimension] = max(sizes[loop.kind.dimension], loop.extent)
    return Launch((grid[0], grid[1], grid[2]), (block[0], block[1], block[2]))


def block_body(stmt: Stmt) -> tuple[tuple[For, ...], Body]:
    """The loops over blocks at the top of a kernel, outermost first, and what one block does."""
    blocks: list[For] = []
    body: Body = (stmt,)
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind.is_block:
        blocks.append(body[0])
        body = body[0].body
    return tuple(blocks), body


def has_threads(stmt: Stmt) -> bool:
    """Whether there is a loop over threads at or below `stmt`."""
    return any(loop.kind.is_thread for loop in loops((stmt,)))


def threads_alone(stmt: Stmt) -> bool:
    """Whether `stmt` is for threads to run without waiting for each other: a loop over threads, or
    something without any, which one thread does for all."""
    if isinstance(stmt, For) and stmt.kind.is_thread:
        return True
    return not (isinstance(stmt, For | If) and has_threads(stmt))
