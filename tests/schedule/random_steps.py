"""Random steps, legal or not, with arguments taken from the program as it stands."""

from __future__ import annotations

import random
import traceback
from collections import Counter
from pathlib import Path

from tuner.errors import ScheduleError
from tuner.ir.nodes import AXES, Buffer, For, If, Program
from tuner.ir.visit import Body, loops, stores
from tuner.schedule.apply import apply
from tuner.schedule.loop_steps import (
    AddUnitLoop,
    Annotate,
    Bind,
    Fuse,
    Parallel,
    Partition,
    Prefetch,
)
from tuner.schedule.nest import chain
from tuner.schedule.steps import (
    CacheRead,
    CacheWrite,
    ComputeAt,
    DecomposeReduction,
    Inline,
    Pack,
    Pad,
    Reorder,
    ReverseComputeAt,
    ReverseInline,
    Rfactor,
    Schedule,
    SetScope,
    Split,
    Step,
    Tile,
    TransformLayout,
    Unroll,
    Vectorize,
)

#: A step that makes a program larger than this is not taken, so that tests stay short.
MAX_INSTANCES = 3000
FACTORS = (1, 2, 2, 3, 4, 5, 7, 16)
SCOPES = ("local", "global")


class RandomSteps:
    """A stream of steps; new names never repeat. With `blocks`, also those for GPUs alone."""

    def __init__(self, rng: random.Random, blocks: bool = False) -> None:
        self._rng = rng
        self._count = 0
        self._blocks = (self._bind, self._bind) if blocks else ()
        self._scopes = (*SCOPES, "shared") if blocks else SCOPES

    def names(self, count: int) -> tuple[str, ...]:
        """Unused names."""
        self._count += count
        return tuple(f"n{self._count - i}" for i in range(count))

    def step(self, program: Program) -> Step:
        """One step with plausible arguments."""
        makers = (
            self._split, self._split, self._reorder, self._reorder, self._tile, self._vectorize,
            self._unroll, self._cache_write, self._cache_write, self._pack, self._compute_at,
            self._compute_at, self._decompose, self._decompose, self._rfactor,
            self._cache_read, self._set_scope, self._transform_layout, self._inline,
            self._reverse_compute_at, self._reverse_compute_at, self._reverse_compute_at,
            self._pad,
            self._reverse_inline,
            self._parallel,
            self._fuse, self._partition, self._annotate, self._prefetch, self._add_unit_loop,
            *self._blocks,
        )  # fmt: skip
        return self._rng.choice(makers)(program)

    def _loop(self, program: Program) -> str:
        return self._rng.choice([loop.var for loop in loops(program.body)])

    def _written(self, program: Program) -> Buffer:
        return program.buffer(self._rng.choice(sorted({s.buffer for s in stores(program.body)})))

    def _chain(self, program: Program) -> list[str]:
        whole = [loop.var for loop in chain(self._rng.choice(list(loops(program.body)))).loops]
        return whole[: self._rng.randint(1, len(whole))]

    def _order(self, rank: int) -> tuple[int, ...]:
        return () if self._rng.random() < 0.5 else tuple(self._rng.sample(range(rank), rank))

    def _split(self, program: Program) -> Step:
        return Split(self._loop(program), self._rng.choice(FACTORS), *self.names(2))

    def _tile(self, program: Program) -> Step:
        found = tuple(self._chain(program)[:2])
        factors = tuple(self._rng.choice(FACTORS) for _ in found)
        return Tile(found, factors, self.names(len(found)), self.names(len(found)))

    def _reorder(self, program: Program) -> Step:
        found = self._chain(program)
        return Reorder(tuple(self._rng.sample(found, self._rng.randint(1, len(found)))))

    def _vectorize(self, program: Program) -> Step:
        innermost = [f.var for f in loops(program.body) if not list(loops(f.body))]
        return Vectorize(self._rng.choice(innermost))

    def _unroll(self, program: Program) -> Step:
        return Unroll(self._loop(program))

    def _fuse(self, program: Program) -> Step:
        found = self._chain(program)
        if len(found) < 2:
            return Fuse(found[0], self._loop(program), *self.names(1))
        return Fuse(*found[-2:], *self.names(1))

    def _partition(self, program: Program) -> Step:
        loop = self._rng.choice(list(loops(program.body)))
        names = self.names(1 + sum(1 for _ in loops(loop.body)))
        return Partition(loop.var, self._rng.randint(0, loop.extent), names)

    def _add_unit_loop(self, program: Program) -> Step:
        return AddUnitLoop(self._loop(program), *self.names(1))

    def _annotate(self, program: Program) -> Step:
        return Annotate(self._loop(program), *self.names(1))

    def _prefetch(self, program: Program) -> Step:
        buffer = self._rng.choice(list(program.buffers())).name
        return Prefetch(buffer, self._loop(program), self._rng.randint(1, 9))

    def _bind(self, program: Program) -> Step:
        """Often one that becomes a kernel: blocks outermost, threads in them."""
        if self._rng.random() < 0.3:
            return Bind(self._loop(program), self._rng.choice(list(AXES)))
        nests = [stmt for stmt in program.body if isinstance(stmt, For)]
        loop = self._rng.choice(nests or list(loops(program.body)))
        axis = "blockIdx" if self._rng.random() < 0.6 else "threadIdx"
        while loop.kind.is_bound and isinstance(loop.body[0], For):
            loop, axis = loop.body[0], self._rng.choice(("blockIdx", "threadIdx", "threadIdx"))
        return Bind(loop.var, f"{axis}.{self._rng.choice('xyz')}")

    def _parallel(self, program: Program) -> Step:
        return Parallel(self._loop(program))

    def _cache_write(self, program: Program) -> Step:
        buffer = self._written(program)
        rank = len(buffer.shape)
        cache, loop = self.names(1)[0], self._loop(program)
        return CacheWrite(
            buffer.name, loop, cache, self._order(rank), self.names(rank), self.names(rank)
        )

    def _pack(self, program: Program) -> Step:
        buffer = self._rng.choice(list(program.buffers()))
        axes = self._layout(len(buffer.shape))
        loop = self._loop(program) if self._rng.random() < 0.3 else ""
        return Pack(buffer.name, self.names(1)[0], loop, axes, self.names(len(axes)))

    def _layout(self, rank: int) -> tuple[str, ...]:
        axes: list[str] = []
        for d in range(rank):
            factor = self._rng.choice(FACTORS)
            tiled = self._rng.random() < 0.5
            axes += [f"{d}//{factor}", f"{d}%{factor}"] if tiled else [str(d)]
        self._rng.shuffle(axes)
        return tuple(axes)

    def _cache_read(self, program: Program) -> Step:
        buffer = self._rng.choice(list(program.buffers()))
        cache, scope, rank = self.names(1)[0], self._rng.choice(self._scopes), len(buffer.shape)
        return CacheRead(
            buffer.name, self._loop(program), cache, scope, self._order(rank), self.names(rank)
        )

    def _intermediate(self, program: Program) -> Buffer:
        return self._rng.choice(program.locals or program.params)

    def _reverse_compute_at(self, program: Program) -> Step:
        earlier, later = self._two_nests(program)
        buffer = self._rng.choice(sorted({s.buffer for s in stores(later)}))
        return ReverseComputeAt(buffer, self._rng.choice(list(loops(earlier))).var)

    def _two_nests(self, program: Program) -> tuple[Body, Body]:
        """Two nests, mostly the second after the first; the whole program twice if it has none."""
        nests = [(stmt,) for stmt in program.body if isinstance(stmt, For)]
        if len(nests) < 2 or self._rng.random() < 0.3:
            return program.body, program.body
        first, second = sorted(self._rng.sample(range(len(nests)), 2))
        return nests[first], nests[second]

    def _reverse_inline(self, program: Program) -> Step:
        return ReverseInline(self._intermediate(program).name)

    def _pad(self, program: Program) -> Step:
        loop = self._rng.choice(list(loops(program.body)))
        return Pad(loop.var, loop.extent + self._rng.randint(0, 3))

    def _inline(self, program: Program) -> Step:
        return Inline(self._intermediate(program).name)

    def _set_scope(self, program: Program) -> Step:
        return SetScope(self._intermediate(program).name, self._rng.choice(self._scopes))

    def _transform_layout(self, program: Program) -> Step:
        buffer = self._intermediate(program)
        layout = self._layout(len(buffer.shape))
        padded = tuple(size + self._rng.randint(0, 3) for size in buffer.shape)
        return TransformLayout(buffer.name, layout, self._rng.choice(((), padded)))

    def _compute_at(self, program: Program) -> Step:
        earlier, later = self._two_nests(program)
        name = self._rng.choice(sorted({s.buffer for s in stores(earlier)}))
        loop = self._rng.choice(list(loops(later))).var
        return ComputeAt(name, loop, self._order(len(program.buffer(name).shape)))

    def _decompose(self, program: Program) -> Step:
        loop = self._rng.choice(list(loops(program.body)))
        whole = chain(loop)
        starts = [s.buffer for s in stores(whole.body) if s.reduce is None]
        buffer = self._rng.choice(starts) if starts else self._written(program).name
        return DecomposeReduction(buffer, loop.var, self.names(len(whole.loops)))

    def _rfactor(self, program: Program) -> Step:
        return Rfactor(self._loop(program), *self.names(3))


def instances(body: Body) -> int:
    """Statement instances, those that guards keep out included."""
    return sum(
        stmt.extent * instances(stmt.body) if isinstance(stmt, For)
        else instances(stmt.body) if isinstance(stmt, If) else 1
        for stmt in body
    )  # fmt: skip


def _refuser(error: ScheduleError) -> str:
    """The function that raised `error`, or what it was raised from."""
    raised = error.__cause__ or error
    frame = traceback.extract_tb(raised.__traceback__)[-1]
    return f"{Path(frame.filename).stem}.{frame.name}"


def random_schedule(
    program: Program, seed: int, tries: int, refused: Counter[str] | None = None
) -> tuple[Schedule, Program]:
    """The legal ones out of `tries` random steps, and the program after them; in `refused`, how
    often which function of tuner.schedule refused one."""
    steps, schedule = RandomSteps(random.Random(seed), blocks=True), ()
    for _ in range(tries):
        step = steps.step(program)
        try:
            new = apply(program, (step,))
        except ScheduleError as error:
            if refused is not None:
                refused[_refuser(error)] += 1
            continue
        if instances(new.body) <= MAX_INSTANCES:
            program, schedule = new, (*schedule, step)
    return schedule, program
