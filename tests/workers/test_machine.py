"""Fingerprint, targets and peaks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tuner.target import TARGETS
from workers import build_opencl, peaks
from workers.fingerprint import look, measuring_cpu, other_cpus
from workers.measure import Bench
from workers.peaks import measure_peaks
from workers.toolchain import Compiler

CPUINFO = """processor\t: {cpu}
model name\t: Some CPU
stepping\t: 3
microcode\t: {microcode}
cpu MHz\t\t: {mhz}
flags\t\t: fpu sse2 {flags}

"""
GCC = Compiler("/usr/bin/gcc", "gcc 12.2.0")


def machine(root: Path, flags: str = "avx2 fma", mhz: str = "2000.1", identity: str = "a") -> Path:
    """A root folder that looks like a machine with two threads of one core."""
    shutil.rmtree(root, ignore_errors=True)
    (root / "proc").mkdir(parents=True)
    (root / "etc").mkdir()
    (root / "etc/machine-id").write_text(identity)
    info = "".join(
        CPUINFO.format(cpu=cpu, microcode="0x1", mhz=mhz, flags=flags) for cpu in range(2)
    )
    (root / "proc/cpuinfo").write_text(info)
    for cpu in range(2):
        topology = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text("0-1\n")
    for index, (level, kind, size) in enumerate([("1", "Data", "32K"), ("2", "Unified", "1M")]):
        cache = root / f"sys/devices/system/cpu/cpu0/cache/index{index}"
        cache.mkdir(parents=True)
        (cache / "level").write_text(level)
        (cache / "type").write_text(kind)
        (cache / "size").write_text(size)
    return root


@pytest.fixture(autouse=True)
def without_opencl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines here are described by files; whether PoCL is installed is not."""
    monkeypatch.setattr(build_opencl, "found", dict)


def test_facts_are_found_by_looking(tmp_path: Path) -> None:
    seen = look(GCC, machine(tmp_path / "m"))
    assert seen.facts["cpus"] == 2
    assert seen.facts["cores"] == 1
    assert seen.facts["caches"] == {"L1 Data": "32K", "L2 Unified": "1M"}
    assert seen.facts["isa"] == ["avx2", "fma", "sse2"]
    assert seen.facts["model"] == "Some CPU"
    assert seen.facts["compiler"] == "gcc 12.2.0"
    assert seen.targets == ("cpu-avx2-1t", "cpu-sse2-1t")


def test_targets_follow_the_features(tmp_path: Path) -> None:
    widest = " ".join(TARGETS["cpu-avx512-1t"].isa)
    assert "cpu-avx512-1t" in look(GCC, machine(tmp_path / "m", widest)).targets
    assert look(GCC, machine(tmp_path / "m", "ssse3")).targets == ("cpu-sse2-1t",)


def test_the_fingerprint_is_stable_and_of_one_machine(tmp_path: Path) -> None:
    first = look(GCC, machine(tmp_path / "m")).fingerprint
    assert first.startswith("f1:")
    assert look(GCC, machine(tmp_path / "m", mhz="3999.9")).fingerprint == first
    assert look(Compiler("cc", "clang 19"), machine(tmp_path / "m")).fingerprint == first
    assert look(GCC, machine(tmp_path / "m", "avx2 fma avx512f")).fingerprint != first
    assert look(GCC, machine(tmp_path / "m", identity="b")).fingerprint != first


def test_opencl_comes_behind_the_cpus_own_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = machine(tmp_path / "m")
    monkeypatch.setattr(build_opencl, "found", lambda: {"version": "OpenCL 3.0 PoCL 3.1"})
    seen = look(GCC, root)
    assert seen.targets[-1] == "opencl-pocl"
    assert seen.facts["opencl"] == {"version": "OpenCL 3.0 PoCL 3.1"}
    monkeypatch.setattr(build_opencl, "found", dict)
    assert look(GCC, root).targets == seen.targets[:-1]
    assert look(GCC, root).fingerprint == seen.fingerprint


def test_this_machine_has_a_target() -> None:
    assert look(GCC).targets
    assert look(GCC).fingerprint == look(GCC).fingerprint
    assert measuring_cpu() not in other_cpus() or len(other_cpus()) == 1


def test_peaks_are_this_machines(compiler: Compiler, bench: Bench, tmp_path: Path) -> None:
    has = look(compiler).targets[0]
    found = measure_peaks(TARGETS[has], 1 << 20, compiler, tmp_path, bench)
    assert 1e8 < found.flops_per_s < 1e13
    assert 1e8 < found.copy_bytes_per_s < 1e13


@pytest.mark.parametrize("size", [0, 1 << 40])
def test_copy_sizes_are_bounded(
    compiler: Compiler, bench: Bench, tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peaks, "MAX_BYTES", 1 << 16)
    found = measure_peaks(TARGETS["cpu-sse2-1t"], size, compiler, tmp_path, bench)
    assert found.copy_bytes_per_s > 0
