"""A replayed kernel is the concretely scheduled program's."""

import numpy as np
import pytest

from tests.space.programs import PROGRAMS, operator
from tuner.features.nest import kernel_of
from tuner.features.replay import replay
from tuner.schedule.apply import apply
from tuner.schedule.steps import SetScope, Split, Tile
from tuner.space.build import space_of
from tuner.space.knobs import Size
from tuner.target import target

AVX512 = target("cpu-avx512-1t")


def described(kernel, point=0):
    """All that features read of one point of a kernel, as plain numbers."""

    def at(array):
        return float(np.broadcast_to(array, max(len(array), point + 1))[point])

    nests = [
        (
            [(loop.name, at(loop.extent), loop.kind) for loop in nest.loops],
            [
                (a.buffer, [[at(span) for span in dim.spans(nest.loops)] for dim in a.dims])
                for a in nest.accesses()
            ],
            (nest.reduces, nest.cheap, nest.costly),
        )
        for nest in kernel.nests
    ]
    shapes = {name: [at(e) for e in s.extents] for name, s in kernel.shapes.items()}
    return nests, shapes


@pytest.mark.parametrize("hardware", [AVX512, target("cpu-avx512-4t")], ids=lambda t: t.name)
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_replay_equals_the_scheduled_program(name, hardware):
    program = PROGRAMS[name]
    space = space_of(program, hardware)
    drawn = space.sample(np.random.default_rng(7), 12)
    for row in range(len(drawn)):
        values = space.values(drawn, row)
        sketch = space.sketches[drawn.sketch[row]]
        sizes = {
            k.name: values[k.name] if k.structural or not values[k.name] else Size((k.name,))
            for k in sketch.knobs
        }
        columns = {knob: np.array([value]) for knob, value in values.items()}
        replayed = replay(kernel_of(program), sketch.steps(sizes), columns)
        scheduled = kernel_of(apply(program, sketch.steps(values)))
        assert described(replayed) == described(scheduled), values


def test_one_replay_serves_many_sizes():
    program = operator("matmul", m=16, n=32, k=8)
    factor = Size(("f",))
    steps = (Split("l0", factor, "o", "i"),)
    sizes = np.array([1, 3, 5, 16, 20])
    replayed = replay(kernel_of(program), steps, {"f": sizes})
    for point, size in enumerate(sizes):
        scheduled = kernel_of(apply(program, (Split("l0", int(size), "o", "i"),)))
        assert described(replayed, point) == described(scheduled)


def test_tile_is_its_splits_and_an_order():
    program = PROGRAMS["transpose"]
    steps = (Tile(("l0", "l1"), (8, 6), ("a", "b"), ("c", "d")),)
    assert described(replay(kernel_of(program), steps, {})) == described(
        kernel_of(apply(program, steps))
    )


def test_guards_and_index_arithmetic_are_no_operations():
    nest = next(n for n in kernel_of(PROGRAMS["conv2d"]).nests if n.reduces)
    assert (nest.cheap, nest.costly) == (2.0, 0.0)


def test_exp_and_division_are_costly():
    costs = [(n.cheap, n.costly) for n in kernel_of(PROGRAMS["softmax"]).nests]
    assert (1.0, 1.0) in costs
    assert (0.0, 1.0) in costs


def test_steps_without_features_are_refused():
    with pytest.raises(TypeError, match="set_scope has no features: a space that makes it"):
        replay(kernel_of(PROGRAMS["softmax"]), (SetScope("h", "local"),), {})
