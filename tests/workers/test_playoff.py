"""Leaders are timed in turn; one that fails does not disturb the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.workers.conftest import QUICK
from tests.workers.kernels import K, kernel, matmul_body
from tuner.record import Outcome
from workers.build import build
from workers.check import CheckSet
from workers.errors import Stopped
from workers.measure import Bench
from workers.playoff import MIN_SAMPLES, play_off
from workers.toolchain import Compiler


def test_every_leader_gets_its_own_outcome(
    compiler: Compiler, bench: Bench, checks: CheckSet, tmp_path: Path
) -> None:
    crash_later = "static int calls; if (++calls > 30) *(volatile int *)0 = 1;" + matmul_body()
    sources = [
        kernel("tw_a"),
        kernel("tw_b", "this is not C;"),
        kernel("tw_c", matmul_body(terms=K - 1)),
        kernel("tw_d", crash_later),
        kernel("tw_e"),
    ]
    timing = replace(QUICK, min_sample_s=1e-6)
    done = play_off(build(sources, compiler, tmp_path), checks, timing, bench)
    assert [m.outcome for m in done] == [
        Outcome.OK, Outcome.COMPILE_ERROR, Outcome.WRONG_RESULT, Outcome.CRASH, Outcome.OK,
    ]  # fmt: skip
    for m in (done[0], done[4]):
        assert len(m.samples_s) >= MIN_SAMPLES
        assert m.median_s is not None
        assert m.timing_s >= timing.min_total_s
        assert m.error_ratio is not None
    assert "during timing" in done[3].detail
    assert done[3].samples_s == ()


def test_a_leader_that_hangs_is_a_timeout(
    compiler: Compiler, bench: Bench, checks: CheckSet, tmp_path: Path
) -> None:
    hangs = "static int calls; if (++calls > 2) for (;;) {}" + matmul_body()
    built = build([kernel("tw_hangs", hangs), kernel("tw_fine")], compiler, tmp_path)
    done = play_off(built, checks, replace(QUICK, limit_s=0.5), bench)
    assert [m.outcome for m in done] == [Outcome.TIMEOUT, Outcome.OK]


def test_a_play_off_can_be_stopped(
    compiler: Compiler, bench: Bench, checks: CheckSet, tmp_path: Path
) -> None:
    built = build([kernel("tw_any")], compiler, tmp_path)
    with pytest.raises(Stopped):
        play_off(built, checks, QUICK, bench, lambda: True)
