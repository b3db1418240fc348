"""A generated text as a callable on numpy arrays."""

import os
import platform
import threading
from pathlib import Path

import numpy as np
import pytest

from tests.codegen.native import targets_here
from tests.conftest import require
from tilewright import KernelError, bf16_bits, bf16_values, load
from tilewright.kernel_header import read_header
from tilewright.kernels import WAITING, Kernel
from tuner.codegen.kernel import generate
from tuner.errors import TilewrightError
from tuner.frontends.text import parse
from tuner.ir.canonical import canonicalize
from tuner.schedule.steps import Pack, Parallel, Schedule
from tuner.target import TARGETS, target
from workers.errors import NoCompiler

MATMUL = """
def mm(x: f32[5, 3], w: const[f32[3, 4]], y: f32[5, 4]):
    for i, j in grid(5, 4):
        y[i, j] = 0.0
        for k in range(3):
            y[i, j] += x[i, k] * w[k, j]
"""
TWO = """
def two(x: i32[4], small: i32[4], large: f64[2, 2]):
    for i in range(4):
        small[i] = x[i] + 1
    for i, j in grid(2, 2):
        large[i, j] = 0.5
"""
HALF = """
def twice(x: bf16[3], y: bf16[3]):
    for i in range(3):
        y[i] = bf16(f32(x[i]) * 2.0)
"""
#: a schedule that needs a workspace
PACKED: Schedule = (Pack("b1", "p", "", ("1", "0"), ("u", "v")),)


def _source(text: str, schedule: Schedule = (), target: str = "") -> str:
    program, _ = canonicalize(parse(text))
    return generate(program, schedule, TARGETS[target] if target else targets_here()[0]).text


@pytest.fixture
def mm() -> Kernel:
    require("gcc", "clang", "cc")
    return Kernel(_source(MATMUL, PACKED), ("x", "w", "y"))


@pytest.fixture
def arrays() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x, w = rng.integers(-9, 9, (5, 3)), rng.integers(-9, 9, (3, 4))
    return x.astype(np.float32), w.astype(np.float32)


def test_a_kernel_is_called_by_position_and_by_name(mm, arrays) -> None:
    x, w = arrays
    for result in (mm(x, w), mm(x, w=w), mm(w=w, x=x)):
        assert result.dtype == np.float32
        assert (result == x @ w).all()
    assert repr(mm).endswith("(x: f32[5, 3], w: f32[3, 4]) -> y: f32[5, 4]")


def test_an_output_may_be_given(mm, arrays) -> None:
    x, w = arrays
    y = np.full((5, 4), np.nan, np.float32)
    assert mm(x, w, out=y) is y
    assert (y == x @ w).all()


def test_a_bound_call_is_checked_once_and_keeps_its_arrays(mm, arrays) -> None:
    x, w = arrays
    call = mm.bind(x.copy(), w.copy())
    first = call()
    assert (first == x @ w).all()
    first[...] = 0
    assert call() is first
    assert (first == x @ w).all()
    with pytest.raises(KernelError, match="misses w"):
        mm.bind(x)


def test_without_names_the_canonical_ones_are_used(arrays) -> None:
    require("gcc", "clang", "cc")
    kernel = load(_source(MATMUL))
    assert [str(p) for p in kernel.inputs] == ["b0: f32[5, 3]", "b1: f32[3, 4]"]
    assert (kernel(*arrays) == arrays[0] @ arrays[1]).all()


def test_several_outputs_are_a_tuple() -> None:
    require("gcc", "clang", "cc")
    kernel = Kernel(_source(TWO), ("x", "small", "large"))
    small, large = kernel(np.arange(4, dtype=np.int32))
    assert small.tolist() == [1, 2, 3, 4]
    assert large.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    with pytest.raises(KernelError, match="out= needs 2 arrays, found 1"):
        kernel(np.arange(4, dtype=np.int32), out=small)


def test_arrays_of_bf16_are_its_bits() -> None:
    require("gcc", "clang", "cc")
    kernel = Kernel(_source(HALF), ("x", "y"))
    x = np.array([0.5, -2.0, 3.0], np.float32)
    assert bf16_values(kernel(bf16_bits(x))).tolist() == [1.0, -4.0, 6.0]
    with pytest.raises(KernelError, match=r"x: bf16\[3\]: .*convert it: tilewright.bf16_bits"):
        kernel(x)


def test_what_a_kernel_does_not_take_is_refused(mm, arrays) -> None:
    x, w = arrays
    read_only = np.zeros((5, 4), np.float32)
    read_only.flags.writeable = False
    cases = (
        ((x.tolist(), w), {}, "x: f32.5, 3.: expected a numpy array, found list"),
        ((x.astype(np.float64), w), {}, r"found dtype float64; convert it: .astype\('float32'\)"),
        ((x[:4], w), {}, r"x: f32\[5, 3\]: found shape \(4, 3\); a kernel's shapes are fixed"),
        ((x, np.asfortranarray(w)), {}, r"w: .*not contiguous in C order.*ascontiguousarray"),
        ((x,), {}, r"misses w$"),
        ((x, w, w), {}, "given twice, or there are too many"),
        ((x, w), {"x": x}, "given twice"),
        ((x, w), {"z": w}, "takes no z$"),
        ((x, w), {"out": read_only}, "y: .*read-only"),
        ((x, w), {"out": np.zeros((4, 5), np.float32)}, r"y: .*found shape \(4, 5\)"),
    )
    for given, named, message in cases:
        with pytest.raises(KernelError, match=message):
            mm(*given, **named)


def test_an_output_overlaps_with_nothing(mm, arrays) -> None:
    memory = np.zeros(40, np.float32)
    x, y = memory[:15].reshape(5, 3), memory[10:30].reshape(5, 4)
    with pytest.raises(KernelError, match="y overlaps with x"):
        mm(x, arrays[1], out=y)


def test_threads_have_workspaces_of_their_own(mm) -> None:
    rng = np.random.default_rng(1)
    pairs = [
        (rng.integers(-9, 9, (5, 3)).astype("f4"), rng.integers(-9, 9, (3, 4)).astype("f4"))
        for _ in range(4)
    ]
    wrong = []

    def work(x: np.ndarray, w: np.ndarray) -> None:
        wrong.extend(1 for _ in range(200) if not (mm(x, w) == x @ w).all())

    threads = [threading.Thread(target=work, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_text_is_compiled_once(mm, tmp_path: Path, monkeypatch) -> None:
    (made,) = (tmp_path / "cache" / "tilewright" / "kernels").iterdir()
    assert made.name.startswith(mm.header.name)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr("tilewright.kernels._compile", never)
    Kernel(mm.source, ("x", "w", "y"))


def test_a_threaded_kernel_waits_as_it_was_measured(
    arrays, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("gcc", "clang", "cc")
    for name in WAITING:
        monkeypatch.setenv(name, "")  # so that the test's end restores it
        monkeypatch.delenv(name)
    load(_source(MATMUL))
    assert not WAITING.keys() & os.environ.keys()
    of_two = target(targets_here()[0].name.replace("-1t", "-2t"))
    kernel = load(generate(canonicalize(parse(MATMUL))[0], (Parallel("l0"),), of_two).text)
    assert {name: os.environ[name] for name in WAITING} == WAITING
    x, w = arrays
    assert all((kernel(x, w) == x @ w).all() for _ in range(20))


def test_without_a_compiler_it_is_one_line(monkeypatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NoCompiler, match=r"^no C compiler on PATH .*install one.*$") as caught:
        load(_source(MATMUL))
    assert isinstance(caught.value, TilewrightError)
    assert "\n" not in str(caught.value)


def test_a_text_that_does_not_compile_says_so() -> None:
    require("gcc", "clang", "cc")
    with pytest.raises(KernelError, match="does not compile tw_"):
        load(_source(MATMUL) + "int broken(\n")


def test_a_kernel_for_another_cpu_is_refused_before_it_runs() -> None:
    require("gcc", "clang", "cc")
    other = TARGETS["cpu-neon-1t" if platform.machine() == "x86_64" else "cpu-avx2-1t"]
    with pytest.raises(KernelError, match=f"this CPU lacks .*, which {other.name} has"):
        load(_source(MATMUL, target=other.name))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int main(void) { return 0; }", "no C kernel of Tilewright's"),
        ("", "no C kernel"),
        (_source(MATMUL).replace("b0: f32[5, 3]", "b0: f32"), "has no parameter in"),
        (_source(MATMUL).replace("b0: f32[5, 3]", "b0: f33[5, 3]"), "has no parameter in"),
    ],
)
def test_a_text_that_is_no_kernel_is_refused(text: str, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        read_header(text)


def test_names_have_to_fit() -> None:
    with pytest.raises(KernelError, match="has 3 parameters, the program 1"):
        read_header(_source(MATMUL), ("x",))


def test_constants_are_prepared_once(mm, arrays) -> None:
    x, w = arrays
    for ready in (mm.prepare(w), mm.prepare(w=w)):
        assert ready.bytes >= w.nbytes
        for part in (x, -x):
            assert (ready(part) == part @ w).all()
            assert (ready(x=part) == part @ w).all()
    y = np.empty((5, 4), np.float32)
    assert mm.prepare(w).bind(x, out=y)() is y
    assert (y == x @ w).all()


def test_a_call_sees_the_constants_of_its_own_time(mm, arrays) -> None:
    """Only what is prepared keeps what the constants were."""
    x, w = arrays
    bound, old = mm.bind(x, w), w.copy()
    assert (bound() == x @ old).all()
    w += 1
    assert (bound() == x @ w).all()
    assert (mm(x, old) == x @ old).all()


def test_prepared_kernels_take_the_other_inputs_only(mm, arrays) -> None:
    x, w = arrays
    ready = mm.prepare(w)
    for call, message in (
        (lambda: ready(x, w), "given twice"),
        (lambda: ready(x, w=w), "takes no w"),
        (mm.prepare, "misses w"),
        (lambda: mm.prepare(w, w), "given twice"),
        (lambda: mm.prepare(w[:2].copy()), "shapes are fixed"),
    ):
        with pytest.raises(KernelError, match=message):
            call()


def test_a_kernel_that_makes_nothing_ahead_is_prepared_all_the_same(arrays) -> None:
    require("gcc", "clang", "cc")
    x, w = arrays
    plain = Kernel(_source(MATMUL), ("x", "w", "y"))
    assert plain.prepare(w).bytes == 0
    assert (plain.prepare(w)(x) == x @ w).all()
    two = Kernel(_source(TWO), ("x", "small", "large"))
    assert (two.prepare()(np.arange(4, dtype=np.int32))[0] == np.arange(1, 5)).all()
