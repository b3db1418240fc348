"""A bench on this machine and the data sets of the small matmul."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import require
from tests.workers.kernels import MATMUL
from tuner.codegen.kernel import generate_wide
from tuner.codegen.source import Source
from tuner.record import Measurement, Timing
from workers.build import build
from workers.check import CheckSet, prepare
from workers.fingerprint import measuring_cpus
from workers.hostlock import HostLock
from workers.measure import Bench, measure
from workers.toolchain import Compiler, find_compiler, runner

#: Short: what is tested is the way, not the times.
QUICK = Timing(min_total_s=0.001, min_sample_s=0.0001, limit_s=5.0)


@pytest.fixture(scope="session")
def compiler() -> Compiler:
    require("gcc", "clang", "cc")
    return find_compiler()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder for the worker's own programs, so that tests build them."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def bench(compiler: Compiler, cache: Path) -> Bench:
    return Bench(runner(compiler, cache), measuring_cpus(), HostLock(cache), "g1:test")


@pytest.fixture(scope="session")
def checks(compiler: Compiler, bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> CheckSet:
    folder = tmp_path_factory.mktemp("matmul")
    wide = generate_wide(MATMUL)
    return prepare(MATMUL, wide, build([wide], compiler, folder)[0], bench.runner, folder)


@pytest.fixture
def run_kernel(
    compiler: Compiler, bench: Bench, checks: CheckSet, tmp_path: Path
) -> Callable[..., Measurement]:
    """Builds and measures one source."""

    def run(source: Source, timing: Timing = QUICK) -> Measurement:
        return measure(build([source], compiler, tmp_path)[0], checks, timing, bench)

    return run
