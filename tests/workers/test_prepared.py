"""What a kernel makes of its constants ahead: made for each data set, timed apart, not to be
changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.workers.conftest import QUICK
from tests.workers.kernels import MATMUL, K, M, N
from tuner.codegen.kernel import generate, generate_wide
from tuner.codegen.source import Source
from tuner.ir.nodes import Program
from tuner.record import Measurement, Outcome
from tuner.schedule.steps import Pack, Split
from tuner.target import target
from workers.build import build
from workers.check import CheckSet, prepare
from workers.measure import Bench, measure
from workers.playoff import play_off
from workers.toolchain import Compiler

BYTES = 4 * K * N
_KERNEL = """
unsigned long {name}_workspace_bytes(void) {{ return 0; }}
unsigned long {name}_prepared_bytes(void) {{ return {said}; }}
int {name}_prepare(const float *w, void *prepared) {{
    float *p = prepared;
    {making}
    return 0;
}}
int {name}(const float *x, const float *w, float *y, const void *prepared, void *workspace) {{
    const float *p = prepared;
    (void)w, (void)workspace;
    {using}
    for (int i = 0; i < {M}; i++)
        for (int j = 0; j < {N}; j++) {{
            float sum = 0;
            for (int k = 0; k < {K}; k++) sum += x[i * {K} + k] * p[j * {K} + k];
            y[i * {N} + j] = sum;
        }}
    return 0;
}}
"""
_MAKING = (
    f"for (int k = 0; k < {K}; k++)"
    f"    for (int j = 0; j < {N}; j++) p[j * {K} + k] = w[k * {N} + j];"
)


def _constant_weights() -> Program:
    x, w, y = MATMUL.params
    return replace(MATMUL, params=(x, replace(w, const=True), y))


def _kernel(name: str, making: str = _MAKING, using: str = "", said: int = BYTES) -> Source:
    text = _KERNEL.format(name=name, making=making, using=using, said=said, M=M, N=N, K=K)
    params = _constant_weights().params
    return Source(name, text, params, ("b2",), 0, 1, ("-O1",), (), prepared_bytes=BYTES)


@pytest.fixture(scope="module")
def checks(compiler: Compiler, bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> CheckSet:
    folder, program = tmp_path_factory.mktemp("prepared"), _constant_weights()
    wide = generate_wide(program)
    return prepare(program, wide, build([wide], compiler, folder)[0], bench.runner, folder)


def test_it_prepares_once_for_each_data_set_and_before_timing(
    run_kernel: Callable[..., Measurement],
) -> None:
    three = "static int times; if (++times > 3) return 7;"
    m = run_kernel(_kernel("tw_ahead", three + _MAKING))
    assert m.outcome is Outcome.OK, m.detail
    assert len(m.samples_s) * m.calls_per_sample > 3
    assert m.prepared_bytes == BYTES
    assert m.prepare_s is not None
    assert m.prepare_s > 0
    assert Measurement.from_json(m.to_json()) == m
    two = run_kernel(_kernel("tw_ahead_twice", three.replace("3", "2") + _MAKING))
    assert (two.outcome, "during timing" in two.detail) == (Outcome.CRASH, True)


def test_a_kernel_without_one_does_not_name_it(run_kernel: Callable[..., Measurement]) -> None:
    source = generate(MATMUL, (), target("cpu-sse2-1t"))
    assert "prepare_s" not in run_kernel(source).to_json()


PLANTED = {
    "writes what is prepared": (
        {"using": "((volatile float *)p)[0] = p[0];"}, Outcome.CRASH, "inside buffer prepared"
    ),
    "writes a constant": (
        {"making": _MAKING + "((volatile float *)w)[0] = w[0];"}, Outcome.CRASH, "inside buffer b1"
    ),
    "writes past what is prepared": (
        {"making": _MAKING + f"p[{K * N}] = 1;"}, Outcome.CRASH, "after buffer prepared"
    ),
    "writes before what is prepared": (
        {"making": _MAKING + "p[-1] = 1;"}, Outcome.WRONG_RESULT, "wrote outside prepared"
    ),
    "prepares the first data only": (
        {"making": f"static int made; if (!made++) {{ {_MAKING} }}"}, Outcome.WRONG_RESULT, "set 2"
    ),
    "prepares nothing": ({"making": "(void)w, (void)p;"}, Outcome.WRONG_RESULT, "data set 1"),
    "has no memory": ({"making": "if (p) return 1; (void)w;"}, Outcome.NO_MEMORY, "returned 1"),
    "says another size": ({"said": 8}, Outcome.COMPILE_ERROR, f"{BYTES} expected"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults(run_kernel: Callable[..., Measurement], name: str) -> None:
    parts, outcome, said = PLANTED[name]
    m = run_kernel(_kernel("tw_planted", **parts))  # type: ignore[arg-type]
    assert (m.outcome, said in m.detail) == (outcome, True), m
    assert m.prepare_s is None


def test_generated_kernels_prepare_in_play_offs_too(
    compiler: Compiler, bench: Bench, checks: CheckSet, tmp_path: Path
) -> None:
    steps = (Pack("b1", "p", "", ("1", "0"), ("u", "v")), Split("l0", 4, "o", "i"))
    hardware = target("cpu-sse2-1t")
    sources = [generate(_constant_weights(), schedule, hardware) for schedule in (steps, ())]
    packed, plain = play_off(build(sources, compiler, tmp_path), checks, QUICK, bench)
    assert (packed.outcome, plain.outcome) == (Outcome.OK, Outcome.OK), packed.detail
    assert packed.prepared_bytes == sources[0].prepared_bytes > BYTES
    assert packed.prepare_s is not None
    assert packed.prepare_s > 0
    assert (plain.prepared_bytes, plain.prepare_s) == (0, None)


@pytest.fixture
def run_kernel(
    compiler: Compiler, bench: Bench, checks: CheckSet, tmp_path: Path
) -> Callable[..., Measurement]:
    """Builds and measures one source on the data of the matmul with constant weights."""

    def run(source: Source) -> Measurement:
        return measure(build([source], compiler, tmp_path)[0], checks, QUICK, bench)

    return run
