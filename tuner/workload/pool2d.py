"""Pooling over square windows, NCHW. The padding counts in a mean, as in PyTorch."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.errors import WorkloadError
from tuner.workload.operator import Operator, Size
from tuner.workload.window import axis, guarded

_SIZES: Mapping[str, Size | None] = {
    "n": 1, "c": None, "h": None, "w": None, "k": None, "stride": "k", "pad": 0,
}  # fmt: skip


def _max(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    shape, read = _window("max_pool2d", size, "-inf")
    return f"""
def max_pool2d(x: {dtype}{_input(size)}, y: {dtype}{list(shape)}):
    for n, c, i, j in grid{shape}:
        y[n, c, i, j] = -inf
        for p, q in grid({size["k"]}, {size["k"]}):
            y[n, c, i, j] = max(y[n, c, i, j], {read})
"""


def _avg(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    shape, read = _window("avg_pool2d", size, "0")
    return f"""
def avg_pool2d(x: {dtype}{_input(size)}, y: {dtype}{list(shape)}):
    total = buffer({dtype}{list(shape)})
    for n, c, i, j in grid{shape}:
        total[n, c, i, j] = 0
        for p, q in grid({size["k"]}, {size["k"]}):
            total[n, c, i, j] += {read}
    for n, c, i, j in grid{shape}:
        y[n, c, i, j] = total[n, c, i, j] / {size["k"] ** 2}
"""


def _input(size: Mapping[str, int]) -> list[int]:
    return [size[name] for name in ("n", "c", "h", "w")]


def _window(op: str, size: Mapping[str, int], outside: str) -> tuple[tuple[int, ...], str]:
    """The output's shape, and what is read at one place of the window."""
    if 2 * size["pad"] > size["k"]:
        raise WorkloadError(f"{op}: pad={size['pad']} must be at most half of k={size['k']}")
    rows, columns = axis(op, size, "h", "k"), axis(op, size, "w", "k")
    row, column = rows.place("i", "p"), columns.place("j", "q")
    read = guarded(f"x[n, c, {row}, {column}]", [(rows, row), (columns, column)], outside)
    return (size["n"], size["c"], rows.outputs, columns.outputs), read


MAX_POOL2D = Operator(
    name="max_pool2d",
    doc="y[n, c, oh, ow] = largest of x[n, c, ...] in a k by k window, NCHW",
    sizes=_SIZES,
    dtypes=("f32", "f64"),
    text=_max,
    words={},
)
AVG_POOL2D = Operator(
    name="avg_pool2d",
    doc="y[n, c, oh, ow] = mean of x[n, c, ...] over a k by k window, zeros of the padding "
    "included, NCHW",
    sizes=_SIZES,
    dtypes=("f32", "f64"),
    text=_avg,
    words={},
)
