"""Softmax over rows, with the row's maximum subtracted first.

Rows are multiplied by the inverse of their sum: a division for each element would cost as much as
its exponential. A sum is 1 at least and `cols` at most, so the inverse neither overflows nor is
subnormal, and adds half a unit in the last place."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.workload.operator import Operator


def _text(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    rows, cols = size["rows"], size["cols"]
    return f"""
def softmax(x: {dtype}[{rows}, {cols}], y: {dtype}[{rows}, {cols}]):
    top = buffer({dtype}[{rows}])
    total = buffer({dtype}[{rows}])
    inverse = buffer({dtype}[{rows}])
    for i in range({rows}):
        top[i] = -inf
        for j in range({cols}):
            top[i] = max(top[i], x[i, j])
        for j in range({cols}):
            y[i, j] = exp(x[i, j] - top[i])
        total[i] = 0
        for j in range({cols}):
            total[i] += y[i, j]
        inverse[i] = 1 / total[i]
        for j in range({cols}):
            y[i, j] = y[i, j] * inverse[i]
"""


SOFTMAX = Operator(
    name="softmax",
    doc="y[r, c] = exp(x[r, c]) / sum over c of exp(x[r, c])",
    sizes={"rows": None, "cols": None},
    dtypes=("f32", "f64"),
    text=_text,
    words={},
)
