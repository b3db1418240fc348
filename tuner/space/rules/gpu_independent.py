"""The rule for everything that is no contraction, on targets with blocks: one thread for each
iteration of the outer loops, as far in as their iterations are independent.

The innermost of them is cut into blocks of threads along x; those around it are blocks along y and
z. Rows of a softmax are a thread's each, and so are the elements of an element-wise nest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tuner.errors import ScheduleError
from tuner.ir.nodes import For, Program
from tuner.schedule.apply import apply
from tuner.schedule.loop_steps import Bind
from tuner.schedule.steps import Split
from tuner.space.knobs import Constraint, Knob, Values
from tuner.space.space import Part, Schedule
from tuner.space.structure import chain
from tuner.target import Target

THREADS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
#: Axes of the grid for the loops around the one that is cut, the innermost first.
_AROUND = ("blockIdx.y", "blockIdx.z")


@dataclass(frozen=True)
class GpuIndependentPart(Part):
    """The schedules of one nest whose outer loops are bound."""

    nest: int
    #: outermost first; the last one is cut
    loops: tuple[str, ...]
    knobs: tuple[Knob, ...]
    constraints: tuple[Constraint, ...] = ()

    @property
    def name(self) -> str:
        return f"independent {self.nest} in blocks: {len(self.loops)} loops"

    def steps(self, values: Values) -> Schedule:
        """The steps of one point."""
        *around, cut = self.loops
        block, thread = f"{cut}b", f"{cut}t"
        axes = zip(reversed(around), _AROUND, strict=False)
        return (
            Split(cut, values[self.knobs[0].name], block, thread),
            *(Bind(loop, axis) for loop, axis in axes),
            Bind(block, "blockIdx.x"),
            Bind(thread, "threadIdx.x"),
        )

    def guesses(self, schedule: Schedule) -> Iterator[dict[str, int]]:
        """The point that `schedule` may have come from."""
        factors = {s.loop: s.factor for s in schedule if isinstance(s, Split)}
        yield {self.knobs[0].name: factors.get(self.loops[-1], 0)}


def parts(program: Program, nest: int, target: Target) -> list[tuple[Part, frozenset[int]]]:
    """What the rule offers for top-level statement `nest`; [] where its outermost loop carries a
    dependence."""
    top = program.body[nest]
    if not isinstance(top, For):
        return []
    loops: list[For] = []
    for loop in chain(top)[0][: len(_AROUND) + 1]:
        if not _independent(program, loop):
            break
        loops.append(loop)
    if not loops:
        return []
    threads = tuple(t for t in THREADS if t <= min(target.block_threads, 2 * loops[-1].extent - 1))
    knob = Knob(f"n{nest}.threads", threads)
    names = tuple(loop.var for loop in loops)
    return [(GpuIndependentPart(nest, names, (knob,)), frozenset({nest}))]


def _independent(program: Program, loop: For) -> bool:
    try:
        apply(program, (Bind(loop.var, "threadIdx.x"),))
    except ScheduleError:
        return False
    return True
