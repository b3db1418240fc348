"""The demo's workloads and a layer_norm: what is submitted, and the same computation in numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tilewright import demo

Array = NDArray[Any]


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


def matmul(x: Array, y: Array) -> Array:
    product: Array = x @ y
    return product


def dense_relu(x: Array, w: Array, b: Array) -> Array:
    h: Array = x @ w
    h += b
    np.maximum(h, 0, out=h)
    return h


def conv2d(x: Array, w: Array) -> Array:
    """As implicit matrix product: the fastest plain numpy way."""
    padded = np.pad(x[0], ((0, 0), (1, 1), (1, 1)))
    windows = sliding_window_view(padded, (3, 3), axis=(1, 2))
    columns = windows.transpose(0, 3, 4, 1, 2).reshape(64 * 9, 56 * 56)
    product: Array = w.reshape(64, 64 * 9) @ columns
    return product.reshape(1, 64, 56, 56)


def softmax(x: Array) -> Array:
    e: Array = x - x.max(axis=1, keepdims=True)
    np.exp(e, out=e)
    e /= e.sum(axis=1, keepdims=True)
    return e


def layer_norm(x: Array, w: Array, b: Array) -> Array:
    y: Array = x - x.mean(axis=1, keepdims=True)
    y *= 1 / np.sqrt(np.square(y).mean(axis=1, keepdims=True) + np.float32(1e-5))
    y *= w
    y += b
    return y


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
