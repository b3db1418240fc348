"""OpenCL candidates through their runner: right ones are timed, wrong ones are told apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import require_opencl
from tests.workers.kernels import MATMUL, M, N
from tuner.codegen.kernel import generate
from tuner.codegen.source import Source
from tuner.record import Measurement, Outcome, Timing
from tuner.schedule.steps import Bind, Schedule, Split
from tuner.target import target
from workers import build_opencl
from workers.check import CheckSet
from workers.measure import Bench, measure
from workers.playoff import MIN_SAMPLES, play_off

QUICK = Timing(min_total_s=0.001, min_sample_s=0.0001, limit_s=30.0)
SCHEDULE: Schedule = (
    Split("l0", 4, "i0", "i1"),
    Bind("i0", "blockIdx.y"),
    Bind("i1", "threadIdx.y"),
    Bind("l1", "threadIdx.x"),
)


@pytest.fixture(scope="module")
def source() -> Source:
    require_opencl()
    return generate(MATMUL, SCHEDULE, target("opencl-pocl"))


@pytest.fixture
def run(bench: Bench, checks: CheckSet, tmp_path: Path) -> Callable[[Source], Measurement]:
    def run(source: Source, timing: Timing = QUICK) -> Measurement:
        return measure(build_opencl.build([source], tmp_path)[0], checks, timing, bench)

    return run


def _with(source: Source, old: str, new: str) -> Source:
    assert old in source.text
    return replace(source, text=source.text.replace(old, new))


def test_a_right_candidate_is_checked_and_timed(
    source: Source, run: Callable[[Source], Measurement]
) -> None:
    found = run(source)
    assert (found.outcome, found.detail) == (Outcome.OK, "")
    assert len(found.samples_s) >= 3
    assert found.error_ratio is not None
    assert 0 <= found.error_ratio <= 1
    assert "PoCL" in found.compiler
    assert found.source_sha256 == source.sha256


def test_a_wrong_result_is_found(source: Source, run: Callable[[Source], Measurement]) -> None:
    found = run(_with(source, "l2 < 41", "l2 < 40"))
    assert found.outcome is Outcome.WRONG_RESULT
    assert "data set 1: b2[0] is" in found.detail


def test_elements_that_are_not_computed_are_found(
    source: Source, run: Callable[[Source], Measurement]
) -> None:
    found = run(_with(source, f"< {M}", f"< {M - 1}"))
    assert found.outcome is Outcome.WRONG_RESULT
    assert f"b2[{(M - 1) * N}] is nan" in found.detail


def test_a_store_beside_the_buffer_is_found(
    source: Source, run: Callable[[Source], Measurement]
) -> None:
    found = run(_with(source, "{\n    const", "{\n    b2[-1] = 0.0f;\n    const"))
    assert found.outcome is Outcome.WRONG_RESULT
    assert "wrote outside b2" in found.detail


def test_a_text_that_does_not_compile_is_told(
    source: Source, run: Callable[[Source], Measurement]
) -> None:
    found = run(_with(source, "get_group_id", "get_grupo_id"))
    assert found.outcome is Outcome.COMPILE_ERROR
    assert "get_grupo_id" in found.detail


def test_a_crash_and_a_hang_are_the_candidates_own(
    source: Source, run: Callable[..., Measurement]
) -> None:
    wild = _with(source, "{\n    const", "{\n    *(volatile __global float *)8 = 1;\n    const")
    assert run(wild).outcome is Outcome.CRASH
    endless = _with(source, "{\n    const", "{\n    while (b0[0] != 77.0f) b2[0] = 1;\n    const")
    assert run(endless, replace(QUICK, limit_s=3.0)).outcome is Outcome.TIMEOUT
    assert run(source).outcome is Outcome.OK


def test_leaders_are_timed_in_turn(
    source: Source, bench: Bench, checks: CheckSet, tmp_path: Path
) -> None:
    other = generate(MATMUL, SCHEDULE[:-1], target("opencl-pocl"))
    built = build_opencl.build([source, other], tmp_path)
    timed = play_off(built, checks, QUICK, bench)
    assert [m.outcome for m in timed] == [Outcome.OK, Outcome.OK]
    assert all(len(m.samples_s) >= MIN_SAMPLES for m in timed)
