"""The catalogue: every operator against numpy, and every refusal by name."""

from __future__ import annotations

import numpy as np
import pytest

from tests.workload.references import CASES, REFERENCES
from tuner.errors import SyntaxRefused, WorkloadError
from tuner.frontends.catalogue import program_for
from tuner.frontends.text import parse
from tuner.ir.interp import run
from tuner.ir.nodes import Program
from tuner.ir.verify import verify
from tuner.ir.visit import outputs
from tuner.workload.catalogue import OPERATORS, complete_sizes
from tuner.workload.operator import Size
from tuner.workload.workload import admit


def inputs_of(program: Program, seed: int = 1) -> dict[str, np.ndarray]:
    """Normals, or small integers, some of them negative; every third float is a tie."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for buffer in program.params[:-1]:
        array = rng.normal(size=buffer.shape)
        if buffer.dtype.is_float:
            array.ravel()[::3] = array.max()
        else:
            array *= 7
        arrays[buffer.name] = array.astype(buffer.dtype.numpy)
    return arrays


@pytest.mark.parametrize(("op", "sizes"), CASES)
def test_an_operator_equals_numpy(op: str, sizes: dict[str, Size]) -> None:
    program = program_for(op, sizes, "f64")
    inputs = inputs_of(program)
    (result,) = run(program, inputs).values()
    expected = REFERENCES[op](inputs, complete_sizes(op, sizes))
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


def test_every_operator_has_a_case() -> None:
    assert {op for op, _ in CASES} == set(OPERATORS)


@pytest.mark.parametrize(("dtype", "left", "right"), [("i8", "i8", "i8"), ("u8", "u8", "i8")])
def test_products_of_bytes_are_summed_in_i32(dtype: str, left: str, right: str) -> None:
    program = program_for("matmul", {"m": 3, "n": 5, "k": 300}, dtype)
    assert [b.dtype.name for b in program.params] == [left, right, "i32"]
    rng = np.random.default_rng(1)
    inputs = {
        b.name: rng.integers(
            np.iinfo(b.dtype.numpy).min, np.iinfo(b.dtype.numpy).max, b.shape, b.dtype.numpy, True
        )
        for b in program.params[:-1]
    }
    wide = {name: array.astype(np.int32) for name, array in inputs.items()}
    np.testing.assert_array_equal(run(program, inputs)["c"], wide["a"] @ wide["b"])


def test_argmax_takes_the_first_nan_as_numpy_does() -> None:
    program = program_for("argmax", {"rows": 3, "cols": 5})
    x = np.array([[1, 3, 3, 2, 0], [1, np.nan, 9, np.nan, 0], [-np.inf] * 5], np.float32)
    assert run(program, {"x": x})["y"].tolist() == [1, 1, 0]


def test_a_default_may_be_another_size() -> None:
    sizes = complete_sizes("max_pool2d", {"c": 1, "h": 9, "w": 9, "k": 3})
    assert (sizes["stride"], sizes["pad"], sizes["n"]) == (3, 0, 1)


@pytest.mark.parametrize("op", OPERATORS)
def test_every_dtype_of_every_operator_is_admitted_with_its_output_last(op: str) -> None:
    sizes = {name: 4 for name, default in OPERATORS[op].sizes.items() if default is None}
    for dtype in OPERATORS[op].dtypes:
        workload = admit(program_for(op, sizes, dtype), op, sizes)
        verify(workload.program)
        assert outputs(workload.program) == (workload.program.params[-1].name,)
        assert workload.op == op
        assert list(workload.sizes) == list(OPERATORS[op].sizes)


MATMUL = {"m": 4, "n": 4, "k": 4}
CONV = {"c": 4, "h": 8, "w": 8, "f": 4, "kh": 3, "kw": 3}
REFUSED = [
    ("matmull", MATMUL, "f32", "unknown operator 'matmull'; there are: matmul, batch_"),
    ("matmul", MATMUL, "f8", "matmul: no dtype 'f8'; there are: f32, f64, i32, i8, u8, bf16"),
    ("softmax", {"rows": 4, "cols": 4}, "i32", "softmax: no dtype 'i32'"),
    ("matmul", {"m": 4, "n": 4}, "f32", "matmul: size 'k' is missing; there are: m, n, k"),
    ("matmul", {**MATMUL, "q": 4}, "f32", "matmul: unknown size 'q'; there are: m, n, k"),
    ("matmul", {**MATMUL, "m": 0}, "f32", "matmul: m=0; it must be an integer from 1"),
    ("matmul", {**MATMUL, "m": -4}, "f32", "m=-4; it must be an integer from 1"),
    ("matmul", {**MATMUL, "m": 2.5}, "f32", "m=2.5; it must be an integer"),
    ("matmul", {**MATMUL, "m": True}, "f32", "m=True; it must be an integer"),
    ("matmul", {**MATMUL, "m": "4"}, "f32", "m='4'; it must be an integer"),
    ("matmul", {**MATMUL, "m": 1 << 31}, "f32", "m=2147483648; it must be an integer"),
    ("matmul", {**MATMUL, "m": 1 << 30}, "f32", "matmul with m=1073741824, n=4, k=4: buffer 'a'"),
    ("dense", {**MATMUL, "activation": "tanh"}, "f32", "activation='tanh'; it can be: none, relu"),
    ("dense", {**MATMUL, "activation": 3}, "f32", "activation=3; it can be: none, relu"),
    ("conv2d", {**CONV, "pad": -1}, "f32", "pad=-1; it must be an integer from 0"),
    ("conv2d", {**CONV, "stride": 0}, "f32", "stride=0; it must be an integer from 1"),
    ("conv2d", {**CONV, "kh": 9}, "f32", "a window of kh=9 (dilation 1) is larger than"),
    ("conv2d", {**CONV, "groups": 3}, "f32", "groups=3 must divide both c=4 and f=4"),
    ("conv2d", {**CONV, "layout": "hwcn"}, "f32", "layout='hwcn'; it can be: nchw, nhwc"),
    ("conv1d", {"c": 4, "l": 3, "f": 4, "k": 5}, "f32", "conv1d: a window of k=5 (dilation 1) is"),
    ("conv1d", {"c": 4, "l": 8, "f": 2, "k": 1, "groups": 4}, "f32", "conv1d: groups=4 must"),
    ("conv_transpose2d", {**CONV, "pad": 5}, "f32", "conv_transpose2d: pad=5 leaves no output"),
    ("max_pool2d", {"c": 1, "h": 8, "w": 8, "k": 3, "pad": 2}, "f32", "max_pool2d: pad=2 must be"),
    ("avg_pool2d", {"c": 1, "h": 8, "w": 2, "k": 3}, "f32", "avg_pool2d: a window of k=3"),
    ("slice", {"rows": 2, "cols": 4, "stop": 5}, "f32", "slice: start=0 must be below stop=5"),
    ("slice", {"rows": 2, "cols": 4, "start": 4}, "f32", "slice: start=4 must be below stop=4"),
    ("dense", {**MATMUL, "activation": "gelu"}, "i32", "activation='gelu' needs f32 or f64, not"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "sizes", "dtype", "message"), REFUSED)
def test_what_the_catalogue_lacks_is_refused_by_name(
    op: str, sizes: dict[str, Size], dtype: str, message: str
) -> None:
    with pytest.raises(WorkloadError) as refused:
        program_for(op, sizes, dtype)
    assert message in str(refused.value)


def test_inputs_that_stay_the_same_are_named() -> None:
    def constants(op: str, *names: str) -> list[str]:
        return [b.name for b in program_for(op, MATMUL, "f32", names).params if b.const]

    assert constants("matmul") == []
    assert constants("matmul", "b") == ["b"]
    assert constants("dense") == constants("dense", "w") == ["w", "b"]
    for name in ("c", "nothing"):
        with pytest.raises(WorkloadError, match=f"no input '{name}' .*; there are: a, b$"):
            constants("matmul", name)


COUNTS = [
    ("matmul", {"m": 512, "n": 512, "k": 512}, 2 * 512**3, 3 * 512 * 512 * 4),
    (
        "dense", {"m": 8, "n": 4, "k": 5, "activation": "relu"},
        2 * 8 * 4 * 5 + 2 * 8 * 4, 4 * (8 * 5 + 5 * 4 + 4 + 8 * 4),
    ),
    (
        "conv2d", {**CONV, "pad": 1},
        2 * 4 * 8 * 8 * 4 * 9, 4 * (4 * 64 + 4 * 4 * 9 + 4 * 64),
    ),
    ("softmax", {"rows": 3, "cols": 10}, 3 * 10 * (1 + 2 + 1 + 1) + 3, 2 * 4 * 30),
]  # fmt: skip


@pytest.mark.parametrize(("op", "sizes", "flops", "io_bytes"), COUNTS)
def test_work_and_traffic(op: str, sizes: dict[str, Size], flops: int, io_bytes: int) -> None:
    workload = admit(program_for(op, sizes), op, sizes)
    assert (workload.flops, workload.io_bytes) == (flops, io_bytes)


@pytest.mark.parametrize(("value", "flops"), [
    ("x[i]", 0), ("x[(i + 1) % 4] * 2", 1), ("f32(i * 3 + 1)", 0), ("f32(n[i] * 3 + 1)", 2),
    ("x[i] if i < 2 else 0", 0), ("x[i] * 2 if x[i] < 2 else x[i]", 2), ("-exp(x[i])", 2),
    ("max(x[i], 0, 1)", 2),
])  # fmt: skip
def test_only_work_on_data_counts(value: str, flops: int) -> None:
    text = (
        f"def f(x: f32[4], n: i64[4], y: f32[4]):\n    for i in range(4):\n        y[i] = {value}\n"
    )
    assert admit(parse(text)).flops == 4 * flops


def test_a_workload_of_a_text_keeps_its_names() -> None:
    workload = admit(parse("def copy(x: f32[4], y: f32[4]):\n    for i in range(4): y[i] = x[i]\n"))
    assert workload.names == {"program": "copy", "b0": "x", "b1": "y", "l0": "i"}
    assert workload.op is None
    assert workload.sizes == {}
    assert workload.hash.startswith("w1:")


def test_a_program_that_never_runs_is_refused() -> None:
    with pytest.raises(SyntaxRefused, match="no statement of the program can ever run"):
        parse("def f(y: f32[4]):\n    for i in range(4):\n        if i > 4: y[i] = 0.0\n")
