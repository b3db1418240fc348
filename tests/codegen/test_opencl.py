"""OpenCL C: points of spaces and hand-bound programs give what the interpreter gives."""

from __future__ import annotations

import numpy as np
import pytest

from tests.codegen.device import run_on_device
from tuner.codegen.kernel import generate
from tuner.errors import CodegenError, ScheduleError
from tuner.frontends.catalogue import program_for
from tuner.frontends.text import parse
from tuner.ir.canonical import canonicalize
from tuner.ir.interp import run
from tuner.ir.nodes import Program
from tuner.ir.visit import outputs
from tuner.schedule.steps import Bind, Schedule, Split, Unroll, Vectorize
from tuner.space.build import space_of
from tuner.target import target

POCL = target("opencl-pocl")

SHARED = """
def reverse(x: f32[64], y: f32[64]):
    s = buffer(f32[16], "shared")
    for i in bound(4, "blockIdx.x"):
        for r in range(3):
            for j in bound(16, "threadIdx.x"):
                s[j] = x[i * 16 + j]
            for j_2 in bound(16, "threadIdx.x"):
                y[i * 16 + j_2] = s[15 - j_2]
"""

#: loops over threads of two lengths and two axes, a statement that one thread does, two kernels
UNEVEN = """
def uneven(x: f32[64], y: f32[64], z: f32[60]):
    for i in bound(64, "blockIdx.x"):
        y[i] = x[i] + 1
    for i_2 in range(3):
        for j in bound(20, "threadIdx.x"):
            z[i_2 * 20 + j] = y[j + 2]
        for k in bound(5, "threadIdx.y"):
            z[i_2 * 20 + k] = z[i_2 * 20 + k + 10]
        z[i_2 * 20 + 7] = exp(z[i_2 * 20 + 8])
"""

#: each thread keeps its sum over iterations that the block makes together
KEPT = """
def kept(x: f32[2, 6, 16], y: f32[2, 16]):
    acc = buffer(f32[16], "local")
    s = buffer(f32[16], "shared")
    for b in bound(2, "blockIdx.x"):
        for t in bound(16, "threadIdx.x"):
            acc[t] = 0
        for k in range(6):
            for u in bound(16, "threadIdx.x"):
                s[u] = x[b, k, u]
            for v in bound(16, "threadIdx.x"):
                acc[v] += s[15 - v]
        for w in bound(16, "threadIdx.x"):
            y[b, w] = acc[w]
"""

#: a local buffer that only one loop over threads uses, and that keeps values over its runs
LASTING = """
def lasting(x: f32[6, 16], y: f32[6, 16]):
    acc = buffer(f32[16], "local")
    for k in range(6):
        for t in bound(16, "threadIdx.x"):
            if k < 1:
                acc[t] = 0
            acc[t] += x[k, t]
            y[k, t] = acc[t]
"""

INTEGERS = """
def integers(x: i32[40], y: i32[40], z: i8[40]):
    for i in bound(40, "threadIdx.x"):
        y[i] = min(x[i] * x[i], x[i] // 3) - x[i] % 5
        z[i] = i8(x[i]) * i8(7)
"""


def _inputs(program: Program) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    written = outputs(program)
    return {
        b.name: rng.integers(-9, 9, b.shape).astype(b.dtype.numpy)
        for b in program.params
        if b.name not in written
    }


def _same(program: Program, schedule: Schedule) -> str:
    """Checks the device's answer; the text."""
    source, inputs = generate(program, schedule, POCL), _inputs(program)
    found, want = run_on_device(source, inputs), run(program, inputs)
    for name in source.outputs:
        np.testing.assert_allclose(found[name], want[name], rtol=1e-5, atol=1e-6)
    return source.text


def _canonical(text: str) -> Program:
    return canonicalize(parse(text))[0]


@pytest.mark.parametrize("text", [SHARED, UNEVEN, KEPT, LASTING, INTEGERS])
def test_bound_programs_give_what_the_interpreter_gives(text: str) -> None:
    _same(_canonical(text), ())


def test_threads_wait_where_they_share_and_only_there() -> None:
    lines = [line.strip() for line in _same(_canonical(SHARED), ()).splitlines()]
    waits = [i for i, line in enumerate(lines) if line.startswith("barrier(")]
    assert len(waits) == 2
    assert any(line.startswith("__local float b") for line in lines[: waits[0]])
    assert "barrier(" not in generate(_matmul(), (Bind("l0", "threadIdx.x"),), POCL).text


def _matmul() -> Program:
    return canonicalize(program_for("matmul", {"m": 19, "n": 21, "k": 17}))[0]


@pytest.mark.parametrize(
    ("op", "sizes"),
    [
        ("matmul", {"m": 19, "n": 21, "k": 17}),
        ("softmax", {"rows": 21, "cols": 19}),
        ("conv2d", {"c": 3, "h": 7, "w": 9, "f": 5, "kh": 3, "kw": 3, "pad": 1, "stride": 2}),
        ("dense", {"m": 13, "n": 11, "k": 7, "activation": "relu"}),
    ],
)
def test_points_of_a_space_give_what_the_interpreter_gives(op: str, sizes: dict[str, int]) -> None:
    program, _ = canonicalize(program_for(op, sizes))
    space = space_of(program, POCL)
    points = space.sample(np.random.default_rng(3), 3)
    for row in range(len(points)):
        schedule = space.schedule(points, row)
        assert space.recover(schedule) is not None
        _same(program, schedule)


def test_what_opencl_cannot_say_is_refused() -> None:
    copy = _canonical(
        "def f(x: f32[64], y: f32[64]):\n    for i in range(64):\n        y[i] = x[i]\n"
    )
    with pytest.raises(CodegenError, match=r"OpenCL C has no vector of 8 f32"):
        generate(copy, (Split("l0", 8, "a", "b"), Vectorize("b")), POCL)
    half = _canonical("def f(x: f16[4], y: f16[4]):\n    for i in range(4):\n        y[i] = x[i]\n")
    with pytest.raises(CodegenError, match=r"OpenCL C has no type for f16"):
        generate(half, (Unroll("l0"),), POCL)


def test_c_has_no_blocks() -> None:
    with pytest.raises(CodegenError, match=r"C has no blockIdx\.x loop"):
        generate(_matmul(), (Bind("l0", "blockIdx.x"),), target("cpu-sse2-1t"))


REFUSED = {
    "too many threads": (
        """
        for i in bound(64, "threadIdx.y"):
            for j in bound(64, "threadIdx.x"):
                y[i, j] = x[i, j]
        """,
        r"64 x 64 x 1 = 4096 threads; opencl-pocl has at most 1024",
    ),
    "too much shared memory": (
        """
        for b in bound(64, "blockIdx.x"):
            for j in range(64):
                s[j, 0] = x[b, j]
            for k in range(64):
                y[b, k] = s[k, 0]
        """,
        r"s need 65536 bytes of shared memory; opencl-pocl has 49152",
    ),
    "a serial loop around blocks": (
        """
        for i in range(64):
            for j in bound(64, "blockIdx.x"):
                y[i, j] = x[i, j]
        """,
        r"loop 'j' is bound to blockIdx\.x, but more than loops over blocks stands around it",
    ),
    "threads apart": (
        """
        for i in bound(8, "threadIdx.y"):
            for k in range(8):
                for j in bound(64, "threadIdx.x"):
                    y[i * 8 + k, j] = x[i * 8 + k, j]
        """,
        r"loop 'j' is bound to threadIdx\.x inside 'i', but not directly",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_a_kernel_is_refused(case: str) -> None:
    body, message = REFUSED[case]
    program = parse(_whole(body))
    with pytest.raises(CodegenError, match=message):
        generate(program, (), POCL)


def _whole(body: str) -> str:
    head = "def f(x: f32[64, 64], y: f32[64, 64]):\n"
    declared = '    s = buffer(f32[64, 256], "shared")\n' if "s[" in body else ""
    return head + declared + "\n".join(line[4:] for line in body.splitlines())


def test_a_local_buffer_is_each_threads_own() -> None:
    program = _canonical(KEPT.replace("= acc[w]", "= acc[15 - w]"))
    with pytest.raises(CodegenError, match=r"'b\d' is local, but what one thread stores there"):
        generate(program, (), POCL)


def test_bound_loops_of_a_text_are_checked_too() -> None:
    text = (
        'def f(x: f32[8], y: f32[1]):\n    for i in bound(8, "threadIdx.x"):\n        y[0] = x[i]\n'
    )
    with pytest.raises(ScheduleError, match=r"may meet in different iterations of l0"):
        generate(_canonical(text), (), POCL)
