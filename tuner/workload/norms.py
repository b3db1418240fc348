"""Normalisations, with PyTorch's default for the small number under the root.

Means are sums times the inverse of their length: a division is on the way from each row's sums to
its results, where nothing else can be done meanwhile."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.dtypes import DTYPES
from tuner.workload.operator import Operator

_EPSILON = 1e-5


def _layer_norm(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    rows, cols = size["rows"], size["cols"]
    return f"""
def layer_norm(x: {dtype}[{rows}, {cols}], w: const[{dtype}[{cols}]], b: const[{dtype}[{cols}]],
               y: {dtype}[{rows}, {cols}]):
    total = buffer({dtype}[{rows}])
    mean = buffer({dtype}[{rows}])
    square = buffer({dtype}[{rows}])
    scale = buffer({dtype}[{rows}])
    for i in range({rows}):
        total[i] = 0
        for j in range({cols}):
            total[i] += x[i, j]
        mean[i] = total[i] * {1 / cols!r}
        square[i] = 0
        for j in range({cols}):
            square[i] += (x[i, j] - mean[i]) * (x[i, j] - mean[i])
        scale[i] = rsqrt(square[i] * {1 / cols!r} + {_EPSILON})
        for j in range({cols}):
            y[i, j] = (x[i, j] - mean[i]) * scale[i] * w[j] + b[j]
"""


def _rms_norm(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    rows, cols = size["rows"], size["cols"]
    epsilon = 2 * DTYPES[dtype].unit_roundoff
    return f"""
def rms_norm(x: {dtype}[{rows}, {cols}], w: const[{dtype}[{cols}]], y: {dtype}[{rows}, {cols}]):
    square = buffer({dtype}[{rows}])
    scale = buffer({dtype}[{rows}])
    for i in range({rows}):
        square[i] = 0
        for j in range({cols}):
            square[i] += x[i, j] * x[i, j]
        scale[i] = rsqrt(square[i] * {1 / cols!r} + {epsilon!r})
        for j in range({cols}):
            y[i, j] = x[i, j] * scale[i] * w[j]
"""


def _batch_norm(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    n, c, h, w = (size[name] for name in ("n", "c", "h", "w"))
    return f"""
def batch_norm(x: {dtype}[{n}, {c}, {h}, {w}], mean: const[{dtype}[{c}]], var: const[{dtype}[{c}]],
               w: const[{dtype}[{c}]], b: const[{dtype}[{c}]], y: {dtype}[{n}, {c}, {h}, {w}]):
    scale = buffer({dtype}[{c}])
    for c in range({c}):
        scale[c] = w[c] * rsqrt(max(var[c], 0) + {_EPSILON})
    for n, c, i, j in grid({n}, {c}, {h}, {w}):
        y[n, c, i, j] = (x[n, c, i, j] - mean[c]) * scale[c] + b[c]
"""


LAYER_NORM = Operator(
    name="layer_norm",
    doc=f"y[r, c] = (x[r, c] - mean(x[r])) / sqrt(var(x[r]) + {_EPSILON}) * w[c] + b[c]",
    sizes={"rows": None, "cols": None},
    dtypes=("f32", "f64"),
    text=_layer_norm,
    words={},
)
RMS_NORM = Operator(
    name="rms_norm",
    doc="y[r, c] = x[r, c] / sqrt(mean(x[r] ** 2) + the dtype's epsilon) * w[c]",
    sizes={"rows": None, "cols": None},
    dtypes=("f32", "f64"),
    text=_rms_norm,
    words={},
)
BATCH_NORM = Operator(
    name="batch_norm",
    doc=f"y[n, c, h, w] = (x[n, c, h, w] - mean[c]) / sqrt(max(var[c], 0) + {_EPSILON}) * w[c] "
    "+ b[c]: inference, with the statistics given",
    sizes={"n": 1, "c": None, "h": None, "w": None},
    dtypes=("f32", "f64"),
    text=_batch_norm,
    words={},
)
