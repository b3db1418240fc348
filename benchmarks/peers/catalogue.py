"""The workloads that all peers compute: single operators in f32, round and odd, known by W1, W2, …

What W14 and W15 name, products of narrower types, is measured by nobody here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import numpys
from benchmarks.numpys import Array, aligned

Shape = tuple[int, ...]

_ATTENTION = """\
def scores(q: f32[{b}, {m}, {k}], k: f32[{b}, {n}, {k}], s: f32[{b}, {m}, {n}]):
    for g, i, j in grid({b}, {m}, {n}):
        s[g, i, j] = 0
        for c in range({k}):
            s[g, i, j] += q[g, i, c] * k[g, j, c]
"""


@dataclass(frozen=True, slots=True)
class PeerWorkload:
    """One computation and what its speed is measured by."""

    name: str
    title: str
    #: what peers know it by
    op: str
    #: shapes of the inputs, in call order
    inputs: tuple[Shape, ...]
    output: Shape
    #: an entry of a job's "workloads"
    request: dict[str, Any]
    numpy: Callable[..., Array]
    #: multiplications and additions; 0 where moving bytes is the limit
    flops: int = 0
    #: inputs that are weights, which a peer may bring into an order of its own ahead
    constants: tuple[int, ...] = ()
    #: of a convolution
    stride: int = 1
    pad: int = 0
    groups: int = 1

    @property
    def io_bytes(self) -> int:
        """Bytes of inputs and output, each once."""
        return 4 * sum(math.prod(shape) for shape in (*self.inputs, self.output))

    def data(self) -> list[Array]:
        """The inputs: normals, the same for every peer, aligned to 64 bytes."""
        rng = np.random.default_rng(0)
        arrays = [aligned(shape) for shape in self.inputs]
        for array in arrays:
            array[...] = rng.standard_normal(array.shape, dtype=np.float32)
        return arrays


def _request(op: str, **sizes: int | str) -> dict[str, Any]:
    return {"op": op, "sizes": sizes, "dtype": "f32"}


#: By position; in the catalogue of operators no operand of a product is constant by itself.
_OPERANDS = ("a", "b")


def _matmul(name: str, m: int, n: int, k: int, constants: tuple[int, ...] = ()) -> PeerWorkload:
    named = {"constants": [_OPERANDS[at] for at in constants]} if constants else {}
    return PeerWorkload(
        name, f"matmul {m}×{k}×{n} (m k n)", "matmul", ((m, k), (k, n)), (m, n),
        _request("matmul", m=m, n=n, k=k) | named, numpys.matmul, 2 * m * n * k, constants,
    )  # fmt: skip


def _scores(name: str, b: int, m: int, n: int, k: int) -> PeerWorkload:
    return PeerWorkload(
        name, f"batch matmul {b}× {m}×{n}, k {k} (QKᵀ)", "batch_matmul_transposed",
        ((b, m, k), (b, n, k)), (b, m, n),
        {"program": _ATTENTION.format(b=b, m=m, n=n, k=k)},
        numpys.batch_matmul_transposed, 2 * b * m * n * k,
    )  # fmt: skip


def _conv2d(name: str, c: int, size: int, f: int, kernel: int, pad: int) -> PeerWorkload:
    title = f"conv2d 1×{c}×{size}×{size}, {f} filters {kernel}×{kernel}"
    return PeerWorkload(
        name, f"{title}, pad {pad}" if pad else title, "conv2d",
        ((1, c, size, size), (f, c, kernel, kernel)), (1, f, size, size),
        _request("conv2d", n=1, c=c, h=size, w=size, f=f, kh=kernel, kw=kernel, pad=pad),
        lambda x, w: numpys.conv2d(x, w, 1, pad), 2 * f * c * kernel**2 * size**2, (1,), 1, pad,
    )  # fmt: skip


def _depthwise(name: str, c: int, size: int) -> PeerWorkload:
    return PeerWorkload(
        name, f"depthwise 1×{c}×{size}×{size}, 3×3, stride 2, pad 1", "depthwise_conv2d",
        ((1, c, size, size), (c, 3, 3)), (1, c, size // 2, size // 2),
        _request("depthwise_conv2d", n=1, c=c, h=size, w=size, kh=3, kw=3, stride=2, pad=1),
        lambda x, w: numpys.depthwise_conv2d(x, w, 2, 1), 0, (1,), 2, 1, c,
    )  # fmt: skip


def _dense_relu(name: str, m: int, n: int, k: int) -> PeerWorkload:
    return PeerWorkload(
        name, f"dense+bias+relu {m}×{k}×{n} (m k n)", "dense_relu", ((m, k), (k, n), (n,)), (m, n),
        _request("dense", m=m, n=n, k=k, activation="relu"), numpys.dense_relu, 2 * m * n * k,
        (1, 2),
    )  # fmt: skip


def _layer_norm(name: str, rows: int, cols: int) -> PeerWorkload:
    return PeerWorkload(
        name, f"layer_norm {rows}×{cols}", "layer_norm", ((rows, cols), (cols,), (cols,)),
        (rows, cols), _request("layer_norm", rows=rows, cols=cols), numpys.layer_norm, 0, (1, 2),
    )  # fmt: skip


def _rows(name: str, op: str, known: str, shape: tuple[int, int], output: Shape) -> PeerWorkload:
    """An operator on one matrix, which `known` names in the catalogue of operators."""
    rows, cols = shape
    return PeerWorkload(
        name, f"{op} {rows}×{cols}", op, (shape,), output, _request(known, rows=rows, cols=cols),
        getattr(numpys, op),
    )  # fmt: skip


WORKLOADS: dict[str, PeerWorkload] = {
    w.name: w
    for w in (
        _matmul("W1", 512, 512, 512),
        _matmul("W2", 1024, 1024, 1024),
        _matmul("W3", 1000, 1000, 1000),
        _matmul("W4", 127, 251, 509),
        _matmul("W5", 16, 1024, 4096, constants=(1,)),
        _scores("W6", 12, 128, 128, 64),
        _conv2d("W7", 64, 56, 64, 3, 1),
        _conv2d("W8", 512, 7, 512, 3, 1),
        _depthwise("W9", 96, 112),
        _conv2d("W10", 256, 56, 64, 1, 0),
        _rows("W11", "softmax", "softmax", (512, 1024), (512, 1024)),
        _layer_norm("W12", 512, 768),
        _dense_relu("W13", 512, 3072, 768),
        _rows("W16", "transpose", "transpose", (2048, 2048), (2048, 2048)),
        _rows("W17", "row_sum", "reduce_sum", (4096, 4096), (4096,)),
        PeerWorkload(
            "W18", "gelu (erf) 2²⁰", "gelu", ((1 << 20,),), (1 << 20,),
            _request("gelu", n=1 << 20), numpys.gelu,
        ),
    )
}  # fmt: skip
