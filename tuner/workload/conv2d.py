"""Two-dimensional convolution, zero-padded, in NCHW or, like PyTorch's channels_last, NHWC."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.workload.operator import Operator
from tuner.workload.product import CONTRACTION_DTYPES, PRODUCTS
from tuner.workload.window import axis, group_channel, guarded


def _text(size: Mapping[str, int], word: Mapping[str, str], dtype: str) -> str:
    n, c, h, w, f = (size[name] for name in ("n", "c", "h", "w", "f"))
    kh, kw = size["kh"], size["kw"]
    channel, per = group_channel("conv2d", size), c // size["groups"]
    rows, columns = axis("conv2d", size, "h", "kh"), axis("conv2d", size, "w", "kw")
    row, column = rows.place("i", "p"), columns.place("j", "q")
    oh, ow, of = rows.outputs, columns.outputs, PRODUCTS[dtype]

    def stored(first: object, channels: object, *places: object) -> str:
        parts = [channels, *places] if word["layout"] == "nchw" else [*places, channels]
        return f"[{', '.join(map(str, (first, *parts)))}]"

    read = guarded(f"x{stored('n', channel, row, column)}", [(rows, row), (columns, column)], "0")
    result = f"y{stored('n', 'f', 'i', 'j')}"
    order = stored("n", "f", "i", "j")[1:-1]
    taps = {"c": per, "p": kh, "q": kw}
    if word["layout"] == "nhwc":
        taps = {"p": kh, "q": kw, "c": per}
    return f"""
def conv2d(x: {of.left}{stored(n, c, h, w)}, w: const[{of.right}{stored(f, per, kh, kw)}],
           y: {of.total}{stored(n, f, oh, ow)}):
    for {order} in grid({stored(n, f, oh, ow)[1:-1]}):
        {result} = 0
        for {", ".join(taps)} in grid{tuple(taps.values())}:
            {result} += {of.of(read, f"w{stored('f', 'c', 'p', 'q')}")}
"""


CONV2D = Operator(
    name="conv2d",
    doc="y[n, f, oh, ow] = sum over c, kh, kw of x[n, c, ...] * w[f, c, kh, kw]; with layout nhwc "
    "x[n, h, w, c], w[f, kh, kw, c] and y[n, oh, ow, f]",
    sizes={
        "n": 1, "c": None, "h": None, "w": None, "f": None, "kh": None, "kw": None,
        "stride": 1, "pad": 0, "dilation": 1, "groups": 1, "layout": "nchw",
    },
    dtypes=CONTRACTION_DTYPES,
    text=_text,
    words={"layout": ("nchw", "nhwc")},
)  # fmt: skip
