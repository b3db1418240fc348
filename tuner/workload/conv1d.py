"""One-dimensional convolution, zero-padded."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.workload.operator import Operator
from tuner.workload.product import CONTRACTION_DTYPES, PRODUCTS
from tuner.workload.window import axis, group_channel, guarded


def _text(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    n, c, length, f, k = (size[name] for name in ("n", "c", "l", "f", "k"))
    channel, along = group_channel("conv1d", size), axis("conv1d", size, "l", "k")
    place, per = along.place("i", "p"), c // size["groups"]
    of = PRODUCTS[dtype]
    read = guarded(f"x[n, {channel}, {place}]", [(along, place)], "0")
    return f"""
def conv1d(x: {of.left}[{n}, {c}, {length}], w: const[{of.right}[{f}, {per}, {k}]],
           y: {of.total}[{n}, {f}, {along.outputs}]):
    for n, f, i in grid({n}, {f}, {along.outputs}):
        y[n, f, i] = 0
        for c, p in grid({per}, {k}):
            y[n, f, i] += {of.of(read, "w[f, c, p]")}
"""


CONV1D = Operator(
    name="conv1d",
    doc="y[n, f, ol] = sum over c, k of x[n, c, ...] * w[f, c, k]",
    sizes={
        "n": 1, "c": None, "l": None, "f": None, "k": None,
        "stride": 1, "pad": 0, "dilation": 1, "groups": 1,
    },
    dtypes=CONTRACTION_DTYPES,
    text=_text,
    words={},
)  # fmt: skip
