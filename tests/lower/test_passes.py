"""Every pass on every program: legal at its stage, and with the same meaning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.codegen.native import inputs_for
from tests.codegen.programs import PROGRAMS
from tuner.errors import StageError
from tuner.frontends.text import parse
from tuner.ir.interp import run as interpret
from tuner.ir.nodes import Program
from tuner.lower.pipeline import PASSES
from tuner.lower.verify_stage import verify_stage
from tuner.target import target

_TARGETS = ("cpu-avx512-1t", "cpu-sse2-1t")


def _outputs(program: Program, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    shaped = {b.name: inputs[b.name].reshape(b.shape) for b in program.params if b.name in inputs}
    return {name: array.ravel() for name, array in interpret(program, shaped).items()}


@pytest.mark.parametrize("machine", _TARGETS)
@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_each_pass_is_legal_and_keeps_the_meaning(text: str, machine: str) -> None:
    program = parse(text)
    inputs = inputs_for(program)
    wanted = _outputs(program, inputs)
    done: list[str] = []
    for step in PASSES:
        before, program = program, step(program, target(machine))
        done.append(step.__name__)
        verify_stage(program, done)
        if program == before:
            continue
        for name, found in _outputs(program, inputs).items():
            np.testing.assert_allclose(found, wanted[name], rtol=1e-5, atol=1e-5, err_msg=str(done))


def test_the_verifier_refuses_what_a_stage_must_not_hold() -> None:
    program = parse(
        "def f(x: f32[8], y: f32[8]):\n    for i in vectorized(8):\n        y[i] = x[i]\n"
    )
    verify_stage(program, ())
    with pytest.raises(StageError, match="still vectorized"):
        verify_stage(program, ("vectorize",))
    with pytest.raises(StageError, match="two things"):
        verify_stage(replace(program, body=program.body * 2), ())
    with pytest.raises(StageError, match="without a declaration"):
        verify_stage(replace(program, params=program.params[:1]), ())
    with pytest.raises(StageError, match="outside their loops"):
        verify_stage(replace(program, body=program.body[0].body), ())  # type: ignore[union-attr]
    lowered = program
    for step in PASSES:
        lowered = step(lowered, target("cpu-avx512-1t"))
    with pytest.raises(StageError, match="lanes before"):
        verify_stage(lowered, ("flatten",))
