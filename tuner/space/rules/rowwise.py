"""The rule for everything that is no contraction: vectors in the innermost loops.

An innermost loop is a map, where each store has its own element for each iteration, or a fold,
where one accumulating store has the same element for all of them. A contiguous map is split into
groups of vectors. A contiguous fold keeps one partial result for each lane of such a group, so
that its operations do not wait for each other. A loop that is neither stays as it is. In a nest of
nothing but loops around one store, the loop that makes the store contiguous comes innermost first.
Where several loops go over the same row, a later one may fetch the next row's part meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tuner.errors import ScheduleError
from tuner.ir.affine import Linear, linear
from tuner.ir.nodes import Cast, For, Load, Program, Stmt, Store, Var
from tuner.ir.visit import outputs, stmt_exprs, variables, walk, walk_exprs
from tuner.schedule.apply import apply
from tuner.schedule.loop_steps import Parallel, Prefetch
from tuner.schedule.steps import Reorder, Rfactor, Split, Step, Unroll, Vectorize
from tuner.space.knobs import Constraint, Knob, Values
from tuner.space.space import Part, Schedule
from tuner.space.structure import chain
from tuner.target import Target

#: Vectors in one group.
GROUPS = (1, 2, 4, 8)
#: Loops that threads may share, one of which a point chooses.
MOST_SHARED = 2


@dataclass(frozen=True, slots=True)
class Leaf:
    """An innermost loop that can run in vectors."""

    loop: str
    extent: int
    #: lanes of its widest element type
    lanes: int
    fold: bool
    #: the order that makes it innermost, () where it is
    reorder: tuple[str, ...] = ()

    def steps(self, group: int) -> list[Step]:
        """In groups of `group` vectors."""
        over, within = f"{self.loop}o", f"{self.loop}t"
        out: list[Step] = [Reorder(self.reorder)] if self.reorder else []
        out.append(Split(self.loop, group * self.lanes, over, within))
        if not self.fold:
            return out + self._vectors(within)
        start, end = f"{self.loop}z", f"{self.loop}e"
        out.append(Rfactor(within, f"{self.loop}c", start, end))
        out += self._vectors(within) + self._vectors(start)
        names = (f"{end}o", f"{end}t")
        out += [
            Split(end, self.lanes, *names),
            Rfactor(names[1], f"{self.loop}d", f"{end}z", f"{end}e"),
        ]
        return [*out, Unroll(names[0]), *(Vectorize(n) for n in (names[1], f"{end}z", f"{end}e"))]

    def ahead(self, buffer: str, group: int) -> Step:
        """Behind `steps`: fetches what the next run of the loop reads of `buffer`. The distance is
        without meaning where the group is a Size; features do not look at it."""
        return Prefetch(buffer, f"{self.loop}o", -(-self.extent // (group * self.lanes)))

    def _vectors(self, loop: str) -> list[Step]:
        over, within = f"{loop}u", f"{loop}v"
        return [Split(loop, self.lanes, over, within), Vectorize(within), Unroll(over)]


@dataclass(frozen=True)
class RowwisePart(Part):
    """The schedules of one nest whose innermost loops run in vectors."""

    nest: int
    leaves: tuple[Leaf, ...]
    #: leaves, by position, that may fetch the next row of a buffer; the knob behind those of the
    #: leaves, where there are any, says which one does
    fetching: tuple[tuple[int, str], ...]
    #: loops that threads may share, outermost first; the last knob, where there are any, says which
    shared: tuple[str, ...]
    knobs: tuple[Knob, ...]
    constraints: tuple[Constraint, ...] = ()

    @property
    def name(self) -> str:
        kinds = ", ".join("fold" if leaf.fold else "map" for leaf in self.leaves)
        return f"row-wise {self.nest}: {kinds or 'as is'}"

    def steps(self, values: Values) -> Schedule:
        """The steps of one point."""
        steps = [
            step
            for leaf, knob in zip(self.leaves, self.knobs, strict=False)
            for step in leaf.steps(values[knob.name])
        ]
        if self.fetching and (which := values[self._fetch]):
            at, buffer = self.fetching[which - 1]
            steps.append(self.leaves[at].ahead(buffer, values[self.knobs[at].name]))
        if self.shared and (spread := values[self.knobs[-1].name]):
            steps.append(Parallel(self.shared[spread - 1]))
        return tuple(steps)

    @property
    def _fetch(self) -> str:
        return self.knobs[len(self.leaves)].name

    def guesses(self, schedule: Schedule) -> Iterator[dict[str, int]]:
        """The point that `schedule` may have come from."""
        factors = {s.loop: s.factor for s in schedule if isinstance(s, Split)}
        found = {
            knob.name: factors.get(leaf.loop, 0) // leaf.lanes
            for leaf, knob in zip(self.leaves, self.knobs, strict=False)
        }
        if self.fetching:
            fetched = {(s.loop, s.buffer) for s in schedule if isinstance(s, Prefetch)}
            whole = ((f"{self.leaves[at].loop}o", buffer) for at, buffer in self.fetching)
            found[self._fetch] = next((n for n, x in enumerate(whole, 1) if x in fetched), 0)
        if self.shared:
            of_threads = {s.loop for s in schedule if isinstance(s, Parallel)}
            here = (n for n, loop in enumerate(self.shared, start=1) if loop in of_threads)
            found[self.knobs[-1].name] = next(here, 0)
        yield found


def parts(program: Program, nest: int, target: Target) -> list[tuple[Part, frozenset[int]]]:
    """What the rule offers for top-level statement `nest`; [] where it has no loop to run in
    vectors or, if the target has several, by threads."""
    top = program.body[nest]
    if not isinstance(top, For):
        return []
    found = tuple(x for x in _leaves(program, top, target) if _applies(program, x))
    knobs = []
    for i, leaf in enumerate(found):
        groups = tuple(g for g in GROUPS if g * leaf.lanes <= leaf.extent)
        knobs.append(Knob(f"n{nest}.group{i}", groups))
    fetching = _fetching(program, top, found)
    if fetching:
        knobs.append(Knob(f"n{nest}.fetch", tuple(range(len(fetching) + 1)), structural=True))
    shared = _shared(program, top, found) if target.threads > 1 else ()
    if shared:
        knobs.append(Knob(f"n{nest}.spread", tuple(range(len(shared) + 1)), structural=True))
    part = RowwisePart(nest, found, fetching, shared, tuple(knobs))
    return [(part, frozenset({nest}))] if found or shared else []


def _fetching(program: Program, top: For, leaves: Sequence[Leaf]) -> tuple[tuple[int, str], ...]:
    """The leaves behind the first that read what it reads, and the buffers."""
    read = [
        {x.buffer for f in walk((top,)) if isinstance(f, For) and f.var == leaf.loop
         for s in f.body if isinstance(s, Store) for x in _loads(s)}
        for leaf in leaves
    ]  # fmt: skip
    inputs = {b.name for b in program.params} - set(outputs(program))
    found = [
        (at, buffer)
        for at in range(1, len(leaves))
        for buffer in sorted(read[0] & read[at] & inputs)
        if _applies(program, leaves[at], buffer)
    ]
    return tuple(found)


def _shared(program: Program, top: For, leaves: Sequence[Leaf]) -> tuple[str, ...]:
    """The outermost loops that threads may share once the leaves run in vectors."""
    split = {leaf.loop for leaf in leaves}
    program = apply(program, tuple(step for leaf in leaves for step in leaf.steps(1)))
    shapes = {b.name: b.shape for b in program.buffers()}
    found: list[str] = []
    for loop in chain(top)[0]:
        name = f"{loop.var}o" if loop.var in split else loop.var
        try:
            spread = apply(program, (Parallel(name),))
        except ScheduleError:
            continue
        if loop.extent > 1 and {b.name: b.shape for b in spread.buffers()} == shapes:
            found.append(name)
    return tuple(found[:MOST_SHARED])


def _applies(program: Program, leaf: Leaf, fetched: str = "") -> bool:
    """Whether the loop may run in vectors as far as dependences go, and fetch from `fetched`."""
    try:
        apply(program, (*leaf.steps(1), *([leaf.ahead(fetched, 1)] if fetched else ())))
    except ScheduleError:
        return False
    return True


def _leaves(program: Program, top: For, target: Target) -> Iterator[Leaf]:
    nest, body = chain(top)
    if len(nest) > 1 and all(isinstance(s, Store) for s in body):
        best = _contiguous(program, nest, body, target)
        if best is not None:
            yield best
            return
    for loop in walk((top,)):
        if isinstance(loop, For) and all(isinstance(s, Store) for s in loop.body):
            leaf = _leaf(program, loop, loop.body, target)
            if leaf is not None:
                yield leaf


def _contiguous(
    program: Program, nest: list[For], body: tuple[Stmt, ...], target: Target
) -> Leaf | None:
    """A loop further out that makes the nest's single store contiguous, where the innermost loop
    does not."""
    if len(body) != 1 or _leaf(program, nest[-1], body, target) is not None:
        return None
    for loop in nest[:-1]:
        leaf = _leaf(program, loop, body, target)
        if leaf is not None and not leaf.fold:
            names = [f.var for f in nest if f.var != loop.var]
            return Leaf(leaf.loop, leaf.extent, leaf.lanes, leaf.fold, (*names, loop.var))
    return None


def _leaf(program: Program, loop: For, body: tuple[Stmt, ...], target: Target) -> Leaf | None:
    """`loop` as if it were innermost around `body`; None where vectors would not pay."""
    found = [s for s in body if isinstance(s, Store)]
    bits = [program.buffer(s.buffer).dtype.bits for s in found]
    for store in found:
        for expr in walk_exprs(store.value):
            if isinstance(expr, Load) or (isinstance(expr, Cast) and expr.dtype.is_float):
                bits.append(expr.dtype.bits)
    lanes = target.lanes(max(bits))
    if lanes < 2 or loop.extent < lanes or any(_scattered(s, loop.var) for s in found):
        return None
    inside = [any(loop.var in variables(i) for i in s.indices) for s in found]
    if all(inside):
        return Leaf(loop.var, loop.extent, lanes, fold=False)
    if len(found) == 1 and found[0].reduce is not None:
        contiguous = [_stride(load.indices, loop.var) in (0, 1) for load in _loads(found[0])]
        return Leaf(loop.var, loop.extent, lanes, fold=True) if all(contiguous) else None
    return None


def _scattered(store: Store, loop: str) -> bool:
    """Whether the store moves by more than one element."""
    return _stride(store.indices, loop) not in (0, 1)


def _loads(store: Store) -> list[Load]:
    return [e for top in stmt_exprs(store) for e in walk_exprs(top) if isinstance(e, Load)]


def _stride(indices: tuple[object, ...], loop: str) -> int | None:
    """Elements between iterations: 0 or 1; None for everything else."""
    forms: list[Linear] = [linear(i) for i in indices]  # type: ignore[arg-type]
    for form in forms[:-1]:
        if any(loop in variables(atom) for atom in form.terms):
            return None
    if not forms:
        return 0
    last = forms[-1]
    if any(loop in variables(atom) and atom != Var(loop) for atom in last.terms):
        return None
    return last.coefficient(loop) if last.coefficient(loop) in (0, 1) else None
