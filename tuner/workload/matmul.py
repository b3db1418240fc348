"""Matrix product."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.workload.operator import Operator


def _text(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    m, n, k = size["m"], size["n"], size["k"]
    return f"""
def matmul(a: {dtype}[{m}, {k}], b: {dtype}[{k}, {n}], c: {dtype}[{m}, {n}]):
    for i, j in grid({m}, {n}):
        c[i, j] = 0
        for k in range({k}):
            c[i, j] += a[i, k] * b[k, j]
"""


MATMUL = Operator(
    name="matmul",
    doc="c[m, n] = sum over k of a[m, k] * b[k, n]",
    sizes={"m": None, "n": None, "k": None},
    dtypes=("f32", "f64", "i32"),
    text=_text,
    words={},
)
