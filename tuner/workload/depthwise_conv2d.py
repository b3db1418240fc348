"""Depthwise convolution: one filter for each channel, NCHW, zero-padded."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.workload.operator import Operator
from tuner.workload.product import CONTRACTION_DTYPES, PRODUCTS
from tuner.workload.window import axis, guarded


def _text(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    n, c, h, w, kh, kw = (size[name] for name in ("n", "c", "h", "w", "kh", "kw"))
    rows, columns = (axis("depthwise_conv2d", size, *names) for names in (("h", "kh"), ("w", "kw")))
    row, column = rows.place("i", "p"), columns.place("j", "q")
    oh, ow, of = rows.outputs, columns.outputs, PRODUCTS[dtype]
    read = guarded(f"x[n, c, {row}, {column}]", [(rows, row), (columns, column)], "0")
    return f"""
def depthwise_conv2d(x: {of.left}[{n}, {c}, {h}, {w}], w: const[{of.right}[{c}, {kh}, {kw}]],
                     y: {of.total}[{n}, {c}, {oh}, {ow}]):
    for n, c, i, j in grid({n}, {c}, {oh}, {ow}):
        y[n, c, i, j] = 0
        for p, q in grid({kh}, {kw}):
            y[n, c, i, j] += {of.of(read, "w[c, p, q]")}
"""


DEPTHWISE_CONV2D = Operator(
    name="depthwise_conv2d",
    doc="y[n, c, oh, ow] = sum over kh, kw of x[n, c, ...] * w[c, kh, kw], NCHW",
    sizes={
        "n": 1, "c": None, "h": None, "w": None, "kh": None, "kw": None, "stride": 1, "pad": 0,
    },
    dtypes=CONTRACTION_DTYPES,
    text=_text,
    words={},
)  # fmt: skip
