"""Fully connected layer: matrix product with weights, bias and activation."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.dtypes import DTYPES
from tuner.errors import WorkloadError
from tuner.workload.elementwise import gelu
from tuner.workload.operator import Operator
from tuner.workload.product import CONTRACTION_DTYPES, PRODUCTS

_SUM = "h[i, j] + b[j]"
_ACTIVATIONS = {"none": _SUM, "relu": f"max({_SUM}, 0)", "gelu": gelu(f"({_SUM})")}


def _text(size: Mapping[str, int], word: Mapping[str, str], dtype: str) -> str:
    m, n, k, activation = size["m"], size["n"], size["k"], word["activation"]
    of = PRODUCTS[dtype]
    if activation == "gelu" and not DTYPES[of.total].is_float:
        raise WorkloadError(f"dense: activation='gelu' needs f32 or f64, not {dtype}")
    return f"""
def dense(x: {of.left}[{m}, {k}], w: const[{of.right}[{k}, {n}]], b: const[{of.total}[{n}]],
          y: {of.total}[{m}, {n}]):
    h = buffer({of.total}[{m}, {n}])
    for i, j in grid({m}, {n}):
        h[i, j] = 0
        for k in range({k}):
            h[i, j] += {of.of("x[i, k]", "w[k, j]")}
    for i, j in grid({m}, {n}):
        y[i, j] = {_ACTIVATIONS[activation]}
"""


DENSE = Operator(
    name="dense",
    doc="y[m, n] = activation(sum over k of x[m, k] * w[k, n] + b[n])",
    sizes={"m": None, "n": None, "k": None, "activation": "none"},
    dtypes=CONTRACTION_DTYPES,
    text=_text,
    words={"activation": tuple(_ACTIVATIONS)},
)
