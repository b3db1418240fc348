"""Reductions over the columns of a matrix."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.workload.operator import Operator


def _reduce_sum(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    rows, cols = size["rows"], size["cols"]
    return f"""
def reduce_sum(x: {dtype}[{rows}, {cols}], y: {dtype}[{rows}]):
    for i in range({rows}):
        y[i] = 0
        for j in range({cols}):
            y[i] += x[i, j]
"""


def _argmax(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    rows, cols = size["rows"], size["cols"]
    # As wide as the data, so that both run in the same lanes.
    place = {"f32": "i32", "f64": "i64"}[dtype]
    hit = "x[i, j] == top[i] or x[i, j] != x[i, j]"
    return f"""
def argmax(x: {dtype}[{rows}, {cols}], y: i64[{rows}]):
    top = buffer({dtype}[{rows}])
    best = buffer({place}[{rows}])
    for i in range({rows}):
        top[i] = -inf
        for j in range({cols}):
            top[i] = max(top[i], x[i, j])
        best[i] = {cols}
        for j in range({cols}):
            best[i] = min(best[i], {place}(j) if {hit} else {cols})
        y[i] = i64(best[i])
"""


REDUCE_SUM = Operator(
    name="reduce_sum",
    doc="y[r] = sum over c of x[r, c]",
    sizes={"rows": None, "cols": None},
    dtypes=("f32", "f64", "i32"),
    text=_reduce_sum,
    words={},
)
ARGMAX = Operator(
    name="argmax",
    doc="y[r] = the smallest c, as i64, where x[r, c] is largest or NaN",
    sizes={"rows": None, "cols": None},
    dtypes=("f32", "f64"),
    text=_argmax,
    words={},
)
