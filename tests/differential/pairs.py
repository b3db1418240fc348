"""One pair: a random program with a random schedule and data.

What must hold of it: the interpreter computes the same before and after, and so does the C that
the scheduled program becomes, by the check that workers make.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, replace

import numpy as np

from tests.codegen.native import call, load
from tests.differential.chains import random_chain
from tests.differential.data import Arrays, data_for, kind_for
from tests.schedule.equivalence import in_lockstep, small_integers
from tests.schedule.programs import conv2d, dense_relu, matmul, softmax
from tests.schedule.random_programs import random_program, random_recurrence
from tests.schedule.random_steps import random_schedule
from tuner.codegen.c import Translation, translate
from tuner.errors import ProgramError
from tuner.frontends.text import parse
from tuner.ir.interp import run
from tuner.ir.nodes import Program
from tuner.ir.show import show
from tuner.ir.visit import outputs, unbound
from tuner.ir.widen import SUFFIX, widen
from tuner.lower.pipeline import lower
from tuner.lower.split_constants import split_constants
from tuner.schedule.steps import Schedule, step_text
from tuner.target import Target
from workers.check import tolerance

DTYPES = ("i32", "i32", "f32", "f32", "f64", "i8", "u8", "i16", "i64")
#: Steps that are tried on a program; most programs take a quarter of them.
TRIES = 36

#: Lanes outside a buffer's domain are computed from what was never set, and never stored.
_DEAD_LANES = "-Wno-error=maybe-uninitialized"


@dataclass(frozen=True, slots=True)
class Pair:
    """`schedule` is legal on `program` and gives `scheduled`."""

    seed: int
    program: Program
    schedule: Schedule
    scheduled: Program
    #: a kind of tests.differential.data
    data: str
    inputs: Arrays
    #: how many steps were refused, by what refused them
    refused: Counter[str]

    def text(self) -> str:
        """For people who look into a failure."""
        steps = "\n".join(step_text(step) for step in self.schedule)
        before, after = show(self.program), show(self.scheduled)
        return f"seed {self.seed}, {self.data} data\n{before}\n{steps}\n\n{after}"


def draw(seed: int) -> Pair:
    """The pair of a seed."""
    rng = random.Random(seed)
    program = _program(rng)
    refused: Counter[str] = Counter()
    schedule, scheduled = random_schedule(program, seed, TRIES, refused)
    kind = kind_for(program, rng)
    inputs = data_for(program, kind, seed)
    constants = {name for name in inputs if random.Random(f"{seed} {name}").random() < 0.5}
    program, scheduled = (_with_constants(one, constants) for one in (program, scheduled))
    return Pair(seed, program, schedule, scheduled, kind, inputs, refused)


def _program(rng: random.Random) -> Program:
    """A program none of whose results depends on what its buffers held before."""
    while True:
        roll = rng.random()
        if roll < 0.45:
            program = random_program(rng)
        elif roll < 0.55:
            program = random_recurrence(rng)
        elif roll < 0.75:
            return random_chain(rng)
        else:
            program = _operator(rng)
            if rng.random() < 0.5:
                return program
        if not _reads_poison(program):
            return _retyped(program, rng.choice(DTYPES))


def _with_constants(program: Program, names: Set[str]) -> Program:
    """The program with these parameters constant beside those that are."""
    params = tuple(replace(b, const=b.const or b.name in names) for b in program.params)
    return replace(program, params=params)


def _operator(rng: random.Random) -> Program:
    def size() -> int:
        return rng.randint(1, 9)

    kind = rng.randrange(4)
    if kind == 0:
        return matmul(size(), size(), size())
    if kind == 1:
        return dense_relu(size(), size(), size())
    if kind == 2:
        return conv2d(rng.randint(1, 3), rng.randint(3, 6), rng.randint(1, 4), 3, 1)
    return softmax(rng.randint(1, 4), rng.randint(1, 20))


def _retyped(program: Program, dtype: str) -> Program:
    """The same text on another type; itself where the text does not mean anything there."""
    text = show(program)
    for old in ("i32", "f32"):
        text = text.replace(f"{old}[", f"{dtype}[")
    try:
        return parse(text)
    except ProgramError:
        return program


def _reads_poison(program: Program) -> bool:
    """Whether an element is read before it is written: in f64 it is NaN then."""
    wide = _retyped(program, "f64")
    found = run(wide, small_integers(wide))
    return any(np.isnan(array.astype(np.float64)).any() for array in found.values())


def allowed(pair: Pair) -> tuple[Arrays, Arrays]:
    """What each output should be, and by how much it may differ."""
    want = run(pair.program, pair.inputs)
    wide = run(widen(pair.program), pair.inputs)
    error = {
        name: _finite(
            tolerance(pair.program, pair.program.buffer(name).dtype, wide[name + SUFFIX], True),
            wide[name],
        )
        if array.dtype.kind == "f"
        else np.zeros(array.shape)
        for name, array in want.items()
    }
    return {n: wide[n] if a.dtype.kind == "f" else a for n, a in want.items()}, error


def _finite(error: np.ndarray, want: np.ndarray) -> np.ndarray:
    """`error`, and a plain one where infinities in the data leave a magnitude without a value."""
    return np.where(np.isfinite(error), error, 1e-4 * np.abs(want) + 1e-6)


def differing(pair: Pair, found: Arrays) -> str:
    """Which output differs too much, and how; empty where none does."""
    want, error = allowed(pair)
    for name, array in found.items():
        with np.errstate(invalid="ignore"):
            off = np.abs(array.astype(np.float64) - want[name].astype(np.float64))
        if array.dtype.kind != "f":
            off = (array != want[name]).astype(np.float64)
        equal = (array == want[name]) | (np.isnan(array) & np.isnan(want[name]))
        if not (equal | (off <= error[name])).all():
            return f"{name} is\n{array}\ninstead of\n{want[name]}"
    return ""


def interpreted(pair: Pair) -> Arrays:
    """The outputs of the scheduled program in the interpreter, vector loops in lockstep, and what
    can be done ahead done ahead."""
    split, inputs = split_constants(in_lockstep(pair.scheduled)), pair.inputs
    if split.ahead is not None:
        inputs = {**inputs, **run(split.ahead, inputs)}
    return run(split.main, inputs)


def translated(pair: Pair, target: Target) -> Translation:
    """The C of the scheduled program, its bound loops one iteration after the other."""
    split = split_constants(unbound(pair.scheduled))
    ahead = lower(split.ahead, target) if split.ahead is not None else None
    return translate(lower(split.main, target), _name(pair), isa=target.isa, ahead=ahead)


def compiled(pairs: list[Pair], target: Target) -> list[Arrays]:
    """The outputs of the scheduled programs as C, built as one translation unit."""
    codes = [translated(pair, target) for pair in pairs]
    text = "\n".join(code.text for code in codes)
    libs = tuple(sorted({lib for code in codes for lib in code.libs}))
    library = load(Translation(text, 0, libs), (*target.flags, _DEAD_LANES))
    return [call(library, _name(pair), pair.program, pair.inputs) for pair in pairs]


def _name(pair: Pair) -> str:
    return f"tw_pair{pair.seed}"


def is_multi_stage(program: Program) -> bool:
    """Whether one nest writes an intermediate buffer that another reads."""
    return len(program.body) > 1 and any(
        b.name not in outputs(program) for b in program.locals
    )  # fmt: skip
