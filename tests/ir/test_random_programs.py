"""Properties that hold for every program, on random ones."""

from __future__ import annotations

import numpy as np
import pytest

import tuner.ir.interp
from tests.ir.random_texts import program_text
from tuner.frontends.text import parse
from tuner.ir.canonical import canonicalize, workload_hash
from tuner.ir.interp import run
from tuner.ir.nodes import Program
from tuner.ir.show import show
from tuner.ir.verify import verify
from tuner.ir.visit import rename

SEEDS = pytest.mark.parametrize("seed", range(40))


def _inputs(program: Program) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    return {b.name: rng.integers(-4, 5, b.shape) for b in program.params[:-1]}


def _result(program: Program) -> list[int]:
    (output,) = run(program, _inputs(program)).values()
    return output.tolist()


@SEEDS
def test_what_is_shown_reads_back_as_the_same_program(seed: int) -> None:
    program = parse(program_text(seed))
    assert parse(show(program)) == program


@SEEDS
def test_the_canonical_form_is_its_own_and_means_the_same(seed: int) -> None:
    program = parse(program_text(seed))
    canonical, names = canonicalize(program)
    verify(canonical)
    assert canonicalize(canonical)[0] == canonical
    assert parse(show(canonical)) == canonical
    assert _result(canonical) == _result(program)
    assert names["program"] == "f"
    assert set(names) == {"program"} | {b.name for b in canonical.buffers()} | {
        name for name in names if name.startswith("l")
    }


@SEEDS
def test_names_do_not_change_the_hash(seed: int) -> None:
    program = parse(program_text(seed))
    names = {b.name: f"buffer_{b.name}" for b in program.buffers()}
    other = rename(program, names | {"i": "outer", "a": "first"})
    assert workload_hash(canonicalize(other)[0]) == workload_hash(canonicalize(program)[0])


@SEEDS
def test_lanes_give_what_iterations_one_by_one_give(seed: int) -> None:
    program = parse(program_text(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuner.ir.interp, "MAX_LANES", 0)
        one_by_one = _result(program)
    assert _result(program) == one_by_one
