"""The catalogue: every operator against numpy, and every refusal by name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tuner.errors import SyntaxRefused, WorkloadError
from tuner.frontends.catalogue import program_for
from tuner.frontends.text import parse
from tuner.ir.interp import run
from tuner.ir.verify import verify
from tuner.ir.visit import outputs
from tuner.workload.catalogue import OPERATORS, complete_sizes
from tuner.workload.operator import Size
from tuner.workload.workload import admit

Arrays = dict[str, np.ndarray]


def _matmul(of: Arrays, _: Mapping[str, Size]) -> np.ndarray:
    return of["a"] @ of["b"]


def _dense(of: Arrays, size: Mapping[str, Size]) -> np.ndarray:
    y = of["x"] @ of["w"] + of["b"]
    return np.maximum(y, 0) if size["activation"] == "relu" else y


def _softmax(of: Arrays, _: Mapping[str, Size]) -> np.ndarray:
    e = np.exp(of["x"] - of["x"].max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _conv2d(of: Arrays, size: Mapping[str, int]) -> np.ndarray:
    x, w = of["x"], of["w"]
    pad, stride, gap, groups = (size[k] for k in ("pad", "stride", "dilation", "groups"))
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    f, per, kh, kw = w.shape
    oh = (x.shape[2] - gap * (kh - 1) - 1) // stride + 1
    ow = (x.shape[3] - gap * (kw - 1) - 1) // stride + 1
    y = np.zeros((x.shape[0], f, oh, ow))
    for p in range(kh):
        for q in range(kw):
            rows = slice(p * gap, p * gap + stride * (oh - 1) + 1, stride)
            columns = slice(q * gap, q * gap + stride * (ow - 1) + 1, stride)
            window = x[:, :, rows, columns]
            for one in range(f):
                first = one // (f // groups) * per
                taps = w[one, :, p, q][None, :, None, None]
                y[:, one] += (window[:, first : first + per] * taps).sum(axis=1)
    return y


REFERENCES = {"matmul": _matmul, "dense": _dense, "softmax": _softmax, "conv2d": _conv2d}
CASES = [
    ("matmul", {"m": 5, "n": 7, "k": 3}),
    ("matmul", {"m": 1, "n": 1, "k": 1}),
    ("dense", {"m": 4, "n": 5, "k": 6}),
    ("dense", {"m": 4, "n": 5, "k": 6, "activation": "relu"}),
    ("softmax", {"rows": 3, "cols": 11}),
    ("conv2d", {"c": 3, "h": 8, "w": 7, "f": 4, "kh": 3, "kw": 2}),
    ("conv2d", {"n": 2, "c": 3, "h": 8, "w": 7, "f": 4, "kh": 3, "kw": 3, "pad": 1}),
    ("conv2d", {"c": 2, "h": 9, "w": 8, "f": 3, "kh": 3, "kw": 3, "pad": 2, "stride": 2}),
    ("conv2d", {"c": 2, "h": 9, "w": 9, "f": 2, "kh": 3, "kw": 2, "dilation": 3, "pad": 1}),
    ("conv2d", {"c": 4, "h": 5, "w": 5, "f": 6, "kh": 2, "kw": 2, "groups": 2, "stride": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("op", "sizes"), CASES)
def test_an_operator_equals_numpy(op: str, sizes: dict[str, Size]) -> None:
    program = program_for(op, sizes, "f64")
    rng = np.random.default_rng(1)
    inputs = {b.name: rng.normal(size=b.shape) for b in program.params[:-1]}
    (result,) = run(program, inputs).values()
    expected = REFERENCES[op](inputs, complete_sizes(op, sizes))
    assert result.shape == expected.shape
    assert np.allclose(result, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("op", OPERATORS)
def test_every_dtype_of_every_operator_is_admitted_with_its_output_last(op: str) -> None:
    sizes = {name: 4 for name, default in OPERATORS[op].sizes.items() if default is None}
    for dtype in OPERATORS[op].dtypes:
        workload = admit(program_for(op, sizes, dtype), op, sizes)
        verify(workload.program)
        assert outputs(workload.program) == (workload.program.params[-1].name,)
        assert workload.program.params[-1].dtype.name == dtype
        assert workload.op == op
        assert list(workload.sizes) == list(OPERATORS[op].sizes)


MATMUL = {"m": 4, "n": 4, "k": 4}
CONV = {"c": 4, "h": 8, "w": 8, "f": 4, "kh": 3, "kw": 3}
REFUSED = [
    ("matmull", MATMUL, "f32", "unknown operator 'matmull'; there are: matmul, dense, conv2d"),
    ("matmul", MATMUL, "f8", "matmul: no dtype 'f8'; there are: f32, f64, i32"),
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
    ("conv2d", {**CONV, "kh": 9}, "f32", "a filter of kh=9 (dilation 1) is larger than"),
    ("conv2d", {**CONV, "groups": 3}, "f32", "groups=3 must divide both c=4 and f=4"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "sizes", "dtype", "message"), REFUSED)
def test_what_the_catalogue_lacks_is_refused_by_name(
    op: str, sizes: dict[str, Size], dtype: str, message: str
) -> None:
    with pytest.raises(WorkloadError) as refused:
        program_for(op, sizes, dtype)
    assert message in str(refused.value)


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
    ("softmax", {"rows": 3, "cols": 10}, 3 * 10 * (1 + 2 + 1 + 1), 2 * 4 * 30),
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
