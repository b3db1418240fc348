"""Batches compile together; a bad one costs only itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.workers.kernels import kernel
from workers.build import build
from workers.errors import NoCompiler, WorkerError
from workers.toolchain import Compiler, find_compiler, own_program


def test_a_batch_is_one_library(compiler: Compiler, tmp_path: Path) -> None:
    built = build([kernel(f"tw_{i}") for i in range(4)], compiler, tmp_path)
    assert [b.name for b in built] == ["tw_0", "tw_1", "tw_2", "tw_3"]
    assert len({b.library for b in built}) == 1
    assert not any(b.error for b in built)
    assert all(b.build_s > 0 and b.compiler == compiler.version for b in built)
    assert [p.suffix for p in tmp_path.iterdir()] == [".so"]


def test_the_same_source_twice_is_built_once(compiler: Compiler, tmp_path: Path) -> None:
    first, second = build([kernel("tw_same"), kernel("tw_same")], compiler, tmp_path)
    assert first == second
    assert not first.error


def test_a_bad_one_falls_back_to_one_file_each(compiler: Compiler, tmp_path: Path) -> None:
    sources = [kernel("tw_good"), kernel("tw_bad", "return nonsense;"), kernel("tw_fine")]
    good, bad, fine = build(sources, compiler, tmp_path)
    assert (good.error, fine.error) == ("", "")
    assert good.library != fine.library
    assert "nonsense" in bad.error
    assert bad.library == ""


def test_other_flags_are_another_unit(compiler: Compiler, tmp_path: Path) -> None:
    built = build([kernel("tw_a"), kernel("tw_b", flags=("-O1",))], compiler, tmp_path)
    assert [b.flags for b in built] == ["-O2 -Wall -Wextra", "-O1"]
    assert built[0].library != built[1].library


def test_no_compiler_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NoCompiler, match="apt-get install gcc"):
        find_compiler()


def test_own_programs_are_built_once(compiler: Compiler, tmp_path: Path) -> None:
    path = own_program(compiler, ("peaks.c",), ("-DLANES=4",), tmp_path)
    made = path.stat().st_mtime_ns
    assert own_program(compiler, ("peaks.c",), ("-DLANES=4",), tmp_path) == path
    assert path.stat().st_mtime_ns == made
    assert own_program(compiler, ("peaks.c",), ("-DLANES=8",), tmp_path) != path
    with pytest.raises(WorkerError, match=r"cannot build peaks\.c"):
        own_program(compiler, ("peaks.c",), (), tmp_path)  # LANES is not defined


def test_own_programs_compile_without_a_warning(compiler: Compiler, tmp_path: Path) -> None:
    here = Path(__file__).parents[2] / "workers"
    for name in ("runner.c", "peaks.c"):
        flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-DLANES=4"]
        command = [compiler.path, *flags, "-o", str(tmp_path / "x"), str(here / name), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
