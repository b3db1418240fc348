"""Kernels of several threads: how they are run, and what they may do."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import require
from tests.workers.kernels import MATMUL, kernel, matmul_body
from tilewright.kernels import WAITING
from tuner.codegen.kernel import generate
from tuner.errors import CodegenError, ProgramError, TargetError
from tuner.frontends.text import parse
from tuner.lower.pipeline import lower
from tuner.record import Measurement, Outcome
from tuner.schedule.loop_steps import Parallel
from tuner.target import TARGETS, target
from tuner.workload.workload import admit
from workers.errors import Stopped, WorkerError
from workers.fingerprint import look, measuring_cpu, measuring_cpus
from workers.gate import Gate
from workers.measure import Bench, cpu_list
from workers.peaks import measure_peaks
from workers.toolchain import Compiler

Run = Callable[..., Measurement]

two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
_OPENMP = ("-O2", "-fopenmp")
_DECLARED = """
extern int omp_get_num_threads(void), omp_get_thread_num(void), sched_getcpu(void);
extern char *getenv(const char *);
extern int strcmp(const char *, const char *);
"""


@pytest.fixture(autouse=True)
def _gcc() -> None:
    require("gcc")


def test_threaded_targets() -> None:
    alone, eight = TARGETS["cpu-avx2-1t"], target("cpu-avx2-8t")
    assert (eight.name, eight.threads, eight.isa) == ("cpu-avx2-8t", 8, alone.isa)
    assert eight.flags == (*alone.flags, "-fopenmp")
    assert target("cpu-avx2-8t") == eight
    for name in ("cpu-avx2-0t", "cpu-avx2-257t", "cpu-avx2-08t", "cpu-mmx-2t", "cpu-avx2-2"):
        with pytest.raises(TargetError, match="each -1t also with 2 to 256 threads as in"):
            target(name)


@two_cores
def test_this_machine_offers_one_thread_first_and_all_cores_last(compiler: Compiler) -> None:
    counts = [target(name).threads for name in look(compiler).targets]
    assert counts == sorted(counts)
    assert counts[0] == 1


def test_the_first_measuring_core_is_that_of_one_thread(bench: Bench) -> None:
    assert measuring_cpus()[0] == measuring_cpu()
    assert sorted(measuring_cpus()) == sorted(os.sched_getaffinity(0))
    with pytest.raises(WorkerError, match="999 threads were asked for; this worker has"):
        cpu_list(bench, 999)


@two_cores
def test_a_generated_kernel_of_two_threads(run_kernel: Run) -> None:
    source = generate(MATMUL, (Parallel("l0"),), target("cpu-sse2-2t"))
    assert "#pragma omp parallel for num_threads(2) schedule(static)" in source.text
    assert "-fopenmp" in source.command
    measured = run_kernel(source)
    assert measured.outcome is Outcome.OK, measured.detail


def test_a_local_value_from_another_iteration_is_refused() -> None:
    program = parse("""
def f(x: f32[8], y: f32[2, 8]):
    last = buffer(f32[1], "local")
    for o in range(2):
        for i in parallel(8):
            if i + o < 5:
                last[0] = x[i]
            y[o, i] = last[0] * x[i]
""")
    lower(program, target("cpu-sse2-1t"))
    with pytest.raises(CodegenError, match="local buffers last cannot be shown to hold no value"):
        lower(program, target("cpu-sse2-2t"))
    with pytest.raises(ProgramError, match="may meet in different iterations of l1"):
        admit(program)


def test_one_thread_runs_parallel_loops_as_plain_ones() -> None:
    source = generate(MATMUL, (Parallel("l0"),), target("cpu-sse2-1t"))
    assert "omp" not in source.text.split("*/")[1]
    assert "-fopenmp" not in source.flags


@two_cores
def test_each_thread_has_a_core_and_soon_sleeps_while_it_waits(run_kernel: Run) -> None:
    body = """
    int cpu[2] = {-1, -1}, team = 0;
    #pragma omp parallel for num_threads(2) schedule(static)
    for (int t = 0; t < 2; t++) {
        cpu[omp_get_thread_num()] = sched_getcpu();
        if (t == 0) team = omp_get_num_threads();
    }
    if (team != 2 || cpu[0] == cpu[1]) return 2;
    """ + "".join(
        f'    if (!getenv("{name}") || strcmp(getenv("{name}"), "{value}")) return 3;\n'
        for name, value in WAITING.items()
    )
    source = kernel("tw_team", body + matmul_body(), _DECLARED, flags=_OPENMP)
    measured = run_kernel(replace(source, threads=2))
    assert measured.outcome is Outcome.OK, measured.detail


@two_cores
@pytest.mark.parametrize("threads", [1, 2])
def test_threads_are_no_way_to_processes(run_kernel: Run, threads: int) -> None:
    before = "extern int fork(void), vfork(void);"
    body = "if (fork() != -1 || vfork() != -1) return 2;" + matmul_body()
    measured = run_kernel(replace(kernel("tw_fork", body, before), threads=threads))
    assert measured.outcome is Outcome.OK, measured.detail


@two_cores
def test_peaks_of_two_threads(compiler: Compiler, bench: Bench, tmp_path: Path) -> None:
    found = measure_peaks(target("cpu-sse2-2t"), 1 << 20, compiler, tmp_path, bench)
    assert 1e8 < found.flops_per_s < 1e13
    assert 1e8 < found.copy_bytes_per_s < 1e13


def test_builds_and_measurements_take_turns() -> None:
    gate, seen, begun = Gate(), [], threading.Event()

    def build() -> None:
        begun.set()
        with gate.building():
            seen.append("built")

    with gate.measuring(lambda: False):
        other = threading.Thread(target=build)
        other.start()
        begun.wait()
        other.join(0.05)
        seen.append("measured")
    other.join()
    assert seen == ["measured", "built"]
    with gate.building(), pytest.raises(Stopped), gate.measuring(lambda: True):
        pass
    with gate.building():
        seen.append("built")
