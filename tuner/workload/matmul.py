"""Matrix products, single and in batches."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.workload.operator import Operator
from tuner.workload.product import CONTRACTION_DTYPES, PRODUCTS


def _matmul(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    m, n, k = size["m"], size["n"], size["k"]
    of = PRODUCTS[dtype]
    return f"""
def matmul(a: {of.left}[{m}, {k}], b: {of.right}[{k}, {n}], c: {of.total}[{m}, {n}]):
    for i, j in grid({m}, {n}):
        c[i, j] = 0
        for k in range({k}):
            c[i, j] += {of.of("a[i, k]", "b[k, j]")}
"""


def _batch_matmul(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    batch, m, n, k = size["b"], size["m"], size["n"], size["k"]
    of = PRODUCTS[dtype]
    return f"""
def batch_matmul(a: {of.left}[{batch}, {m}, {k}], b: {of.right}[{batch}, {k}, {n}],
                 c: {of.total}[{batch}, {m}, {n}]):
    for g, i, j in grid({batch}, {m}, {n}):
        c[g, i, j] = 0
        for k in range({k}):
            c[g, i, j] += {of.of("a[g, i, k]", "b[g, k, j]")}
"""


MATMUL = Operator(
    name="matmul",
    doc="c[m, n] = sum over k of a[m, k] * b[k, n]",
    sizes={"m": None, "n": None, "k": None},
    dtypes=CONTRACTION_DTYPES,
    text=_matmul,
    words={},
)
BATCH_MATMUL = Operator(
    name="batch_matmul",
    doc="c[b, m, n] = sum over k of a[b, m, k] * b[b, k, n]",
    sizes={"b": None, "m": None, "n": None, "k": None},
    dtypes=CONTRACTION_DTYPES,
    text=_batch_matmul,
    words={},
)
