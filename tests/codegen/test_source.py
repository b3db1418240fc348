"""Whole kernels: names, header, the command by hand, the wide reference, goldens."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.codegen.native import c_compiler, call, inputs_for, targets_here
from tuner.codegen.c import C, translate
from tuner.codegen.kernel import GENERATOR, generate, generate_wide
from tuner.codegen.source import Source
from tuner.dtypes import DType
from tuner.errors import CodegenError, ScheduleError
from tuner.frontends.text import parse
from tuner.ir.canonical import canonicalize
from tuner.ir.interp import run as interpret
from tuner.ir.nodes import Program
from tuner.ir.widen import widen
from tuner.lower.pipeline import lower
from tuner.schedule.apply import apply
from tuner.schedule.steps import (
    CacheWrite,
    DecomposeReduction,
    Pack,
    Reorder,
    Schedule,
    Split,
    Unroll,
    Vectorize,
)
from tuner.target import target

_BEST = targets_here()[0]
_MATMUL = """
def f(x: f32[30, 20], w: f32[20, 40], y: f32[30, 40]):
    for i, j in grid(30, 40):
        y[i, j] = 0.0
        for k in range(20):
            y[i, j] += x[i, k] * w[k, j]
"""
_SOFTMAX = """
def f(x: f32[6, 50], y: f32[6, 50]):
    m = buffer(f32[6])
    s = buffer(f32[6])
    for i in range(6):
        m[i] = -inf
        s[i] = 0.0
        for a in range(50):
            m[i] = max(m[i], x[i, a])
        for b in range(50):
            y[i, b] = exp(x[i, b] - m[i])
            s[i] += y[i, b]
        for c in range(50):
            y[i, c] = y[i, c] / s[i]
"""
_SCHEDULE: Schedule = (
    Pack("b1", "p", "", ("1//16", "0", "1%16"), ("p0", "p1", "p2")),
    Vectorize("p2"),
    Split("l0", 4, "io", "ii"),
    Split("l1", 16, "jo", "ji"),
    Reorder(("io", "jo", "ii", "ji")),
    CacheWrite("b2", "jo", "acc", (), (), ("s0", "s1")),
    DecomposeReduction("acc", "ii", ("z0", "z1")),
    Reorder(("l2", "ii", "ji")),
    *(Unroll(name) for name in ("z0", "ii", "s0")),
    *(Vectorize(name) for name in ("z1", "ji", "s1")),
)


def _canonical(text: str) -> Program:
    return canonicalize(parse(text))[0]


def _built(source: Source, folder: Path) -> ctypes.CDLL:
    """Built with the source's own command, any warning being an error."""
    (folder / f"{source.name}.c").write_text(source.text)
    command = source.command.replace("gcc", f"{c_compiler()} -Werror", 1)
    done = subprocess.run(
        command, shell=True, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / f"{source.name}.so"))


def test_the_command_in_the_header_builds_a_right_kernel(tmp_path: Path) -> None:
    program = _canonical(_MATMUL)
    source = generate(program, _SCHEDULE, _BEST)
    assert f" *     {source.command}\n" in source.text
    library = _built(source, tmp_path)
    inputs = inputs_for(program)
    found = call(library, source.name, program, inputs)
    np.testing.assert_allclose(found["b2"], inputs["b0"] @ inputs["b1"], rtol=1e-4, atol=1e-5)


def test_file_level_names_begin_with_the_kernels_name() -> None:
    source = generate(_canonical(_SOFTMAX), (), _BEST)
    assert re.fullmatch(r"tw_[0-9a-f]{16}", source.name)
    heads = re.findall(r"^(?:typedef|static|int|__SIZE_TYPE__)\b.*?(\w+)(?: __attr.*|\(.*)$",
                       source.text, re.MULTILINE)  # fmt: skip
    assert len(heads) > 5
    assert all(name.startswith(source.name) for name in heads), heads
    assert "#" not in source.text


def test_a_name_stands_for_what_the_kernel_is_made_from() -> None:
    program = _canonical(_MATMUL)
    one = generate(program, (), target("cpu-avx512-1t"))
    assert one == generate(program, (), target("cpu-avx512-1t"))
    assert one.sha256 == generate(program, (), target("cpu-avx512-1t")).sha256
    others = [
        generate(program, (), target("cpu-sse2-1t")),
        generate(program, (Split("l0", 4, "a", "b"),), target("cpu-avx512-1t")),
        generate(_canonical(_SOFTMAX), (), target("cpu-avx512-1t")),
        generate_wide(program),
    ]
    assert len({one.name, *(s.name for s in others)}) == 5
    assert re.fullmatch(r"g1:[0-9a-f]{32}", GENERATOR)


def test_the_text_is_the_same_in_every_process() -> None:
    code = (
        "from tests.codegen import test_source as t\n"
        "print(t.generate(t._canonical(t._MATMUL), t._SCHEDULE, t._BEST).sha256,"
        " t.generate_wide(t._canonical(t._SOFTMAX)).sha256)"
    )
    root = Path(__file__).parents[2]
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, cwd=root,
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(found) == 1


def test_the_schedule_stands_in_the_header() -> None:
    text = generate(_canonical(_MATMUL), (Split("l0", 4, "a", "b"),), _BEST).text
    assert " *     split(loop='l0', factor=4, outer='a', inner='b')\n" in text
    assert GENERATOR in text


def test_what_depends_on_constants_alone_is_a_function_of_its_own(tmp_path: Path) -> None:
    program = _canonical(_MATMUL.replace("w: f32[20, 40]", "w: const[f32[20, 40]]"))
    source = generate(program, _SCHEDULE, _BEST)
    assert f"int {source.name}_prepare(const float *b1, void *prepared)\n" in source.text
    assert (
        f"int {source.name}(const float *b0, const float *b1, float *b2, const void *prepared, "
        "void *workspace)\n"
    ) in source.text
    assert " *     b1: f32[20, 40], constant\n" in source.text
    assert source.workspace_bytes == 0
    assert source.prepared_bytes == 3 * 20 * 16 * 4 + 63
    library = _built(source, tmp_path)
    inputs = inputs_for(program)
    found = call(library, source.name, program, inputs)
    np.testing.assert_allclose(found["b2"], inputs["b0"] @ inputs["b1"], rtol=1e-4, atol=1e-5)
    assert getattr(library, f"{source.name}_prepare")(None, None) == 1
    assert getattr(library, source.name)(None, None, None, None, None) == 1


def test_without_constants_nothing_is_prepared() -> None:
    source = generate(_canonical(_MATMUL), _SCHEDULE, _BEST)
    assert source.prepared_bytes == 0
    assert "prepare" not in source.text


def test_an_illegal_schedule_is_refused() -> None:
    with pytest.raises(ScheduleError, match="step 1"):
        generate(_canonical(_MATMUL), (Unroll("nowhere"),), _BEST)


def test_a_type_that_c_lacks_is_refused() -> None:
    with pytest.raises(CodegenError, match="C has no type for u16"):
        C.type(DType("u16", "uint", 16))


@pytest.mark.parametrize("text", [_MATMUL, _SOFTMAX], ids=["matmul", "softmax"])
def test_the_wide_reference_carries_values_and_magnitudes(text: str, tmp_path: Path) -> None:
    program = _canonical(text)
    source = generate_wide(program)
    assert source.params == widen(program).params
    library = _built(source, tmp_path)
    inputs = inputs_for(program)
    found = call(library, source.name, widen(program), inputs)
    assert set(found) == set(source.outputs)
    for name, wanted in interpret(widen(program), inputs).items():
        np.testing.assert_allclose(found[name], wanted, rtol=1e-12)


def test_the_wide_reference_walks_memory_in_sequence() -> None:
    text = generate_wide(_canonical(_MATMUL)).text
    innermost = re.findall(r"for \(long (\w+) = 0; \1 < \d+; \1\+\+\) \{\n(?!\s+for)", text)
    assert "l1" in innermost
    assert "l2" not in innermost


@pytest.mark.parametrize(
    ("name", "text", "schedule"),
    [("matmul.c", _MATMUL, _SCHEDULE), ("softmax.c", _SOFTMAX, ())],
    ids=["matmul", "softmax"],
)
def test_golden(
    name: str, text: str, schedule: Schedule, golden: Callable[[str, str], None]
) -> None:
    lowered = lower(apply(_canonical(text), schedule), target("cpu-avx512-1t"))
    golden(name, translate(lowered, "tw_golden").text)
