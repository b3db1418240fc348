"""Fully connected layer: matrix product with weights, bias and activation."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.workload.operator import Operator

_ACTIVATIONS = {"none": "h[i, j] + b[j]", "relu": "max(h[i, j] + b[j], 0)"}


def _text(size: Mapping[str, int], word: Mapping[str, str], dtype: str) -> str:
    m, n, k = size["m"], size["n"], size["k"]
    return f"""
def dense(x: {dtype}[{m}, {k}], w: const[{dtype}[{k}, {n}]], b: const[{dtype}[{n}]],
          y: {dtype}[{m}, {n}]):
    h = buffer({dtype}[{m}, {n}])
    for i, j in grid({m}, {n}):
        h[i, j] = 0
        for k in range({k}):
            h[i, j] += x[i, k] * w[k, j]
    for i, j in grid({m}, {n}):
        y[i, j] = {_ACTIVATIONS[word["activation"]]}
"""


DENSE = Operator(
    name="dense",
    doc="y[m, n] = activation(sum over k of x[m, k] * w[k, n] + b[n])",
    sizes={"m": None, "n": None, "k": None, "activation": "none"},
    dtypes=("f32", "f64", "i32"),
    text=_text,
    words={"activation": tuple(_ACTIVATIONS)},
)
