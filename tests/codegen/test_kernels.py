"""Compiled kernels against the interpreter, for every target that this machine can run."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from tests.codegen.native import CLANG, call, inputs_for, load, run, targets_here, values
from tests.codegen.programs import PROGRAMS
from tests.conftest import require
from tuner.codegen.c import translate
from tuner.frontends.text import parse
from tuner.ir.interp import run as interpret
from tuner.lower.pipeline import lower
from tuner.target import Target, target

_BEST = targets_here()[0]


def _check(text: str, machine: Target, shift: int = 0, compiler: str = "") -> None:
    inputs = inputs_for(parse(text))
    found = run(text, inputs, machine, shift, compiler)
    for name, wanted in interpret(parse(text), inputs).items():
        buffer = parse(text).buffer(name)
        tolerance = max(3e-5, 2 * buffer.dtype.unit_roundoff) if buffer.dtype.is_float else 0
        results = (values(a, buffer) for a in (found[name], wanted))
        np.testing.assert_allclose(*results, rtol=tolerance, atol=min(tolerance, 3e-5))


@pytest.mark.parametrize("machine", targets_here(), ids=lambda t: t.name)
@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_equals_the_interpreter(text: str, machine: Target) -> None:
    _check(text, machine)


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_needs_no_alignment(text: str) -> None:
    _check(text, _BEST, shift=1)


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_clang_takes_the_text_too(text: str) -> None:
    _check(text, _BEST, compiler=require(*CLANG))


def test_a_missing_workspace_is_told() -> None:
    program = parse(PROGRAMS["a buffer in the workspace"])
    code = translate(lower(program, _BEST), "tw_test")
    library = load(code, _BEST.flags)
    x, y = np.zeros((200, 100), np.float32), np.zeros((200, 100), np.float32)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (x, y)]
    assert library.tw_test(*pointers, None) == 1
    assert code.workspace_bytes >= 200 * 100 * 4
    library.tw_test_workspace_bytes.restype = ctypes.c_size_t
    assert library.tw_test_workspace_bytes() == code.workspace_bytes


def test_many_kernels_stand_in_one_translation_unit() -> None:
    text = PROGRAMS["softmax with vector partial sums"]
    program, machine = parse(text), target(_BEST.name)
    lowered = lower(program, machine)
    one, two = (translate(lowered, name) for name in ("tw_one", "tw_two"))
    inputs = inputs_for(program)
    library = load(replace(one, text=one.text + two.text), machine.flags)
    first, second = (call(library, name, program, inputs) for name in ("tw_one", "tw_two"))
    np.testing.assert_array_equal(first["y"], second["y"])


def test_loading_changes_neither_rounding_nor_denormals() -> None:
    lowered = lower(parse(PROGRAMS["short vector loop"]), _BEST)
    load(translate(lowered, "tw_test"), _BEST.flags)
    libm = ctypes.CDLL("libm.so.6")
    assert libm.fegetround() == 0
    tiny = np.float32(1e-38)
    assert tiny * np.float32(0.125) > 0


def test_subnormals_survive() -> None:
    text = PROGRAMS["vector loop with a rest of every width"].replace(" * 2.0 + 1.0", " * 0.5")
    x = np.full(1003, 1e-39, np.float32)
    assert (run(text, {"x": x}, _BEST)["y"] == x * np.float32(0.5)).all()
