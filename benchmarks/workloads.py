"""The demo's workloads and a layer_norm: what is submitted, and the same computation in numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.numpys import Array, conv2d, dense_relu, layer_norm, matmul, softmax
from tilewright import demo


@dataclass(frozen=True, slots=True)
class BenchWorkload:
    """One row of the benchmark."""

    name: str
    #: an entry of a job's "workloads"
    request: dict[str, Any]
    #: shapes of the inputs, in call order
    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    numpy: Callable[..., Array]
    #: "flops" or "bytes": which limit the share is of
    limit: str
    #: share of the limit that the project promises, None where it has none yet
    bar: float | None


_MATMUL, _DENSE_RELU, _CONV2D, _SOFTMAX = demo.WORKLOADS
_LAYER_NORM = {"op": "layer_norm", "sizes": {"rows": 512, "cols": 768}, "dtype": "f32"}

WORKLOADS: tuple[BenchWorkload, ...] = (
    BenchWorkload(
        "matmul", _MATMUL, ((512, 512), (512, 512)), (512, 512), matmul, "flops", 0.75
    ),
    BenchWorkload(
        "dense_relu", _DENSE_RELU, ((512, 768), (768, 3072), (3072,)), (512, 3072),
        dense_relu, "flops", 0.65,
    ),
    BenchWorkload(
        "conv2d", _CONV2D, ((1, 64, 56, 56), (64, 64, 3, 3)), (1, 64, 56, 56),
        conv2d, "flops", 0.58,
    ),
    BenchWorkload("softmax", _SOFTMAX, ((512, 1024),), (512, 1024), softmax, "bytes", 0.55),
    BenchWorkload(
        "layer_norm", _LAYER_NORM, ((512, 768), (768,), (768,)), (512, 768), layer_norm, "bytes",
        0.55,
    ),
)  # fmt: skip
