"""Whatever a candidate does becomes its own typed outcome."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.workers.conftest import QUICK
from tests.workers.kernels import K, M, N, kernel, matmul_body
from tuner.codegen.source import Source
from tuner.record import Measurement, Outcome, Timing

Run = Callable[..., Measurement]


def test_a_right_kernel_is_checked_and_timed(run_kernel: Run) -> None:
    m = run_kernel(kernel("tw_right"))
    assert m.outcome is Outcome.OK, m.detail
    assert m.median_s is not None
    assert m.median_s > 0
    assert len(m.samples_s) >= QUICK.min_samples
    assert m.calls_per_sample >= 1
    assert m.error_ratio is not None
    assert m.error_ratio < 1
    assert m.check_s > 0
    assert m.timing == QUICK
    assert Measurement.from_json(m.to_json()) == m


PLANTED = {
    "dropped term": (matmul_body(terms=K - 1), Outcome.WRONG_RESULT, "b2[0]"),
    "stale tail": (matmul_body(cols=N - 1), Outcome.WRONG_RESULT, f"b2[{N - 1}] is nan"),
    "swapped tile": (
        matmul_body(at=f"(i < 8 ? i ^ 4 : i) * {N} + j"), Outcome.WRONG_RESULT, "data set 1"
    ),
    "null": ("*(volatile int *)0 = 1; return 0;", Outcome.CRASH, "SIGSEGV during the check"),
    "read past the end": (
        f"y[0] = ((volatile const float *)x)[{M * K}]; return 0;", Outcome.CRASH, "after buffer b0"
    ),
    "write past the end": (f"y[{M * N}] = 1; return 0;", Outcome.CRASH, "after buffer b2"),
    "write before the start": ("y[-1024] = 1; return 0;", Outcome.CRASH, "before buffer b2"),
    "write just before the start": (
        "y[-1] = 1;" + matmul_body(), Outcome.WRONG_RESULT, "wrote outside b2"
    ),
    "write to an input": ("((float *)x)[0] = 1; return 0;", Outcome.CRASH, "inside buffer b0"),
    "illegal": (
        '__asm__ volatile(".word 0x0b0f, 0"); return 0;', Outcome.ILLEGAL_INSTRUCTION, "SIGILL"
    ),
    "abort": ("__builtin_abort();", Outcome.CRASH, "SIGABRT"),
    "no memory": ("return 1;", Outcome.NO_MEMORY, "returned 1"),
    "huge malloc": (
        "void *p = __builtin_malloc(1ul << 32); if (!p) return 1;" + matmul_body(),
        Outcome.NO_MEMORY, "returned 1",
    ),
    "other status": ("return 7;", Outcome.CRASH, "returned 7"),
    "deep stack": (
        "volatile char big[1 << 26]; big[0] = 1; return big[0];", Outcome.CRASH, "SIGSEGV"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults(run_kernel: Run, name: str) -> None:
    body, outcome, said = PLANTED[name]
    m = run_kernel(kernel("tw_planted", body))
    assert (m.outcome, said in m.detail) == (outcome, True), m
    assert m.samples_s == ()
    assert m.median_s is None


def test_a_hanging_kernel_times_out(run_kernel: Run) -> None:
    start = time.monotonic()
    m = run_kernel(kernel("tw_hangs", "for (;;) {}"), replace(QUICK, limit_s=0.3))
    assert m.outcome is Outcome.TIMEOUT
    assert "last stage: loaded" in m.detail
    assert time.monotonic() - start < 5


def test_a_crash_while_timing_keeps_what_was_known(run_kernel: Run) -> None:
    body = "static int calls; if (++calls > 2) *(volatile int *)0 = 1;" + matmul_body()
    m = run_kernel(kernel("tw_later", body))
    assert m.outcome is Outcome.CRASH
    assert "during timing" in m.detail
    assert m.error_ratio is not None


def test_a_kernel_cannot_fork_open_or_connect(run_kernel: Run) -> None:
    """Each is refused by the system-call filter, so the kernel goes on and ends well."""
    before = (
        "extern int fork(void), socket(int, int, int), open(const char *, int, ...),\n"
        "    execl(const char *, const char *, ...), kill(int, int);"
    )
    tries = (
        "if (fork() >= 0) return 2;\n"
        "if (socket(2, 1, 0) >= 0) return 3;\n"
        'if (open("/etc/passwd", 0) >= 0) return 4;\n'
        'execl("/bin/true", "true", (char *)0);\n'
        f"if (kill({os.getpid()}, 0) == 0) return 5;\n"
    )
    m = run_kernel(kernel("tw_escapes", tries + matmul_body(), before))
    assert m.outcome is Outcome.OK, m.detail


def test_a_changed_float_mode_is_a_wrong_result(run_kernel: Run) -> None:
    before = "#if defined(__x86_64__)\n#define SET __builtin_ia32_ldmxcsr(0x9fc0)\n#else\n"
    before += '#define SET __asm__ volatile("msr fpcr, %0" : : "r"(1ul << 24))\n#endif\n'
    m = run_kernel(kernel("tw_mode", "SET;" + matmul_body(), before))
    assert m.outcome is Outcome.WRONG_RESULT
    assert "floating-point mode" in m.detail


def test_workspace_is_as_large_as_promised(run_kernel: Run) -> None:
    fits = "for (int i = 0; i < 100; i++) ((char *)workspace)[i] = 1;" + matmul_body()
    assert run_kernel(kernel("tw_fits", fits, workspace=100)).outcome is Outcome.OK
    over = run_kernel(kernel("tw_over", fits, workspace=99))
    assert over.outcome is Outcome.CRASH
    assert "after buffer workspace" in over.detail
    none = run_kernel(kernel("tw_none", fits))
    assert none.outcome is Outcome.CRASH


def test_a_workspace_beyond_memory_is_no_memory(run_kernel: Run) -> None:
    m = run_kernel(kernel("tw_vast", workspace=1 << 50))
    assert m.outcome is Outcome.NO_MEMORY
    assert "workspace" in m.detail


def test_what_does_not_load_is_a_compile_error(run_kernel: Run) -> None:
    good = kernel("tw_other")
    wrong_name = Source("tw_name", good.text, good.params, good.outputs, 0, 1, good.flags, ())
    m = run_kernel(wrong_name)
    assert m.outcome is Outcome.COMPILE_ERROR
    assert "does not export tw_name" in m.detail
    missing = run_kernel(kernel("tw_missing", "return nowhere();", "int nowhere(void);"))
    assert missing.outcome is Outcome.COMPILE_ERROR
    assert "nowhere" in missing.detail


def test_a_slow_kernel_stops_at_the_least_samples(run_kernel: Run) -> None:
    timing = Timing(min_samples=3, min_total_s=1.0, min_sample_s=1e-5, incumbent_s=1e-9)
    m = run_kernel(kernel("tw_slow"), timing)
    assert m.outcome is Outcome.OK
    assert len(m.samples_s) == 3


def test_max_samples_caps(run_kernel: Run) -> None:
    timing = Timing(min_samples=3, max_samples=5, min_total_s=10.0, min_sample_s=1e-6)
    assert len(run_kernel(kernel("tw_capped"), timing).samples_s) == 5
