"""Operators that move elements and compute nothing."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.errors import WorkloadError
from tuner.workload.operator import Operator

_DTYPES = ("f32", "f64", "bf16", "i64", "i32", "i16", "i8", "u8")


def _transpose(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    rows, cols = size["rows"], size["cols"]
    return f"""
def transpose(x: {dtype}[{rows}, {cols}], y: {dtype}[{cols}, {rows}]):
    for i, j in grid({cols}, {rows}):
        y[i, j] = x[j, i]
"""


def _concat(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    rows, left, right = size["rows"], size["left"], size["right"]
    return f"""
def concat(a: {dtype}[{rows}, {left}], b: {dtype}[{rows}, {right}],
           y: {dtype}[{rows}, {left + right}]):
    for i, j in grid({rows}, {left}):
        y[i, j] = a[i, j]
    for i, j in grid({rows}, {right}):
        y[i, j + {left}] = b[i, j]
"""


def _pad(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    rows, cols, pad = size["rows"], size["cols"], size["pad"]
    inside = f"{pad} <= i < {pad + rows} and {pad} <= j < {pad + cols}"
    return f"""
def pad(x: {dtype}[{rows}, {cols}], y: {dtype}[{rows + 2 * pad}, {cols + 2 * pad}]):
    for i, j in grid({rows + 2 * pad}, {cols + 2 * pad}):
        y[i, j] = x[i - {pad}, j - {pad}] if {inside} else 0
"""


def _slice(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    rows, cols, start, stop, step = (size[n] for n in ("rows", "cols", "start", "stop", "step"))
    if not start < stop <= cols:
        raise WorkloadError(
            f"slice: start={start} must be below stop={stop}, and stop at most cols={cols}"
        )
    count = -(-(stop - start) // step)
    return f"""
def slice(x: {dtype}[{rows}, {cols}], y: {dtype}[{rows}, {count}]):
    for i, j in grid({rows}, {count}):
        y[i, j] = x[i, j * {step} + {start}]
"""


def _embedding(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    n, rows, cols = size["n"], size["rows"], size["cols"]
    return f"""
def embedding(ids: i64[{n}], table: const[{dtype}[{rows}, {cols}]], y: {dtype}[{n}, {cols}]):
    for i, j in grid({n}, {cols}):
        y[i, j] = table[clamp(ids[i], 0, {rows - 1}), j]
"""


TRANSPOSE = Operator(
    name="transpose",
    doc="y[c, r] = x[r, c]",
    sizes={"rows": None, "cols": None},
    dtypes=_DTYPES,
    text=_transpose,
    words={},
)
CONCAT = Operator(
    name="concat",
    doc="y[r, :] = a[r, :left] and then b[r, :right]",
    sizes={"rows": None, "left": None, "right": None},
    dtypes=_DTYPES,
    text=_concat,
    words={},
)
PAD = Operator(
    name="pad",
    doc="y = x with `pad` zeros on each side of both dimensions",
    sizes={"rows": None, "cols": None, "pad": None},
    dtypes=_DTYPES,
    text=_pad,
    words={},
)
SLICE = Operator(
    name="slice",
    doc="y[r, :] = x[r, start:stop:step]",
    sizes={"rows": None, "cols": None, "start": 0, "stop": "cols", "step": 1},
    dtypes=_DTYPES,
    text=_slice,
    words={},
)
EMBEDDING = Operator(
    name="embedding",
    doc="y[n, c] = table[ids[n], c]; ids are i64, clamped to the table's rows",
    sizes={"n": None, "rows": None, "cols": None},
    dtypes=_DTYPES,
    text=_embedding,
    words={},
)
