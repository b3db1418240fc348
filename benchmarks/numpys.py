"""What the benchmarks compute, in numpy alone: peers in other interpreters import this too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Array = NDArray[Any]

#: Set on some machines for old libraries; they slow a current numpy down.
SLOWS_NUMPY = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def aligned(shape: Sequence[int]) -> Array:
    """Uninitialised f32 array that starts on a cache line, as it does for every competitor."""
    size = int(np.prod(shape)) * 4
    raw = np.empty(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(np.float32).reshape(tuple(shape))


def matmul(x: Array, y: Array) -> Array:
    product: Array = x @ y
    return product


def batch_matmul_transposed(q: Array, k: Array) -> Array:
    """Each query with each key: the scores of attention heads."""
    product: Array = q @ k.transpose(0, 2, 1)
    return product


def dense_relu(x: Array, w: Array, b: Array) -> Array:
    h: Array = x @ w
    h += b
    np.maximum(h, 0, out=h)
    return h


def conv2d(x: Array, w: Array, stride: int = 1, pad: int = 1) -> Array:
    """One image, as implicit matrix product: the fastest plain numpy way."""
    filters, channels, height, width = w.shape
    windows = _windows(x[0], height, width, stride, pad)
    rows, columns = windows.shape[1:3]
    lowered = windows.transpose(0, 3, 4, 1, 2).reshape(channels * height * width, rows * columns)
    product: Array = w.reshape(filters, -1) @ lowered
    return product.reshape(1, filters, rows, columns)


def depthwise_conv2d(x: Array, w: Array, stride: int = 1, pad: int = 1) -> Array:
    """One image, a filter for each channel: a sum of shifted images."""
    windows = _windows(x[0], w.shape[1], w.shape[2], stride, pad)
    total: Array = np.zeros(windows.shape[:3], np.float32)
    for p in range(w.shape[1]):
        for q in range(w.shape[2]):
            total += windows[..., p, q] * w[:, p, q, None, None]
    return total[None]


def _windows(image: Array, height: int, width: int, stride: int, pad: int) -> Array:
    """What a filter of `height` x `width` sees: channel, row, column, row and column in it."""
    padded = np.pad(image, ((0, 0), (pad, pad), (pad, pad))) if pad else image
    windows: Array = sliding_window_view(padded, (height, width), axis=(1, 2))
    return windows[:, ::stride, ::stride]


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


def transpose(x: Array) -> Array:
    return np.ascontiguousarray(x.T)


def row_sum(x: Array) -> Array:
    total: Array = x.sum(axis=1)
    return total


def gelu(x: Array) -> Array:
    """x/2 (1 + erf(x/sqrt 2)); erf by formula 7.1.26 of Abramowitz and Stegun, |error| < 1.5e-7."""
    z = np.abs(x) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * z)
    polynomial: Array = np.full_like(t, 1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        polynomial *= t
        polynomial += np.float32(factor)
    erf = np.copysign(1 - polynomial * t * np.exp(-z * z), x)
    result: Array = np.float32(0.5) * x * (1 + erf)
    return result
