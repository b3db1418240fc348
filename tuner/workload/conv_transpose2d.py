"""Transposed convolution, NCHW: the input spread out by the stride, under the turned filter."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.errors import WorkloadError
from tuner.workload.operator import Operator
from tuner.workload.product import PRODUCTS


def _text(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    n, c, h, w, f, kh, kw = (size[name] for name in ("n", "c", "h", "w", "f", "kh", "kw"))
    stride, pad = size["stride"], size["pad"]
    oh, ow = _outputs("h", h, kh, size), _outputs("w", w, kw, size)
    high, wide = (h - 1) * stride + 1, (w - 1) * stride + 1
    row, column = f"i + {pad} - p", f"j + {pad} - q"
    of, source, spread = PRODUCTS[dtype], "x", ""
    if stride > 1:
        source = "wide"
        hit = f"u % {stride} == 0 and v % {stride} == 0"
        spread = f"""
    wide = buffer({of.left}[{n}, {c}, {high}, {wide}])
    for n, c, u, v in grid({n}, {c}, {high}, {wide}):
        wide[n, c, u, v] = x[n, c, u // {stride}, v // {stride}] if {hit} else 0"""
    inside = f"0 <= {row} < {high} and 0 <= {column} < {wide}"
    read = f"({source}[n, c, {row}, {column}] if {inside} else 0)"
    return f"""
def conv_transpose2d(x: {of.left}[{n}, {c}, {h}, {w}], w: const[{of.right}[{c}, {f}, {kh}, {kw}]],
                     y: {of.total}[{n}, {f}, {oh}, {ow}]):{spread}
    for n, f, i, j in grid({n}, {f}, {oh}, {ow}):
        y[n, f, i, j] = 0
        for c, p, q in grid({c}, {kh}, {kw}):
            y[n, f, i, j] += {of.of(read, "w[c, f, p, q]")}
"""


def _outputs(name: str, extent: int, taps: int, size: Mapping[str, int]) -> int:
    count = (extent - 1) * size["stride"] - 2 * size["pad"] + taps
    if count < 1:
        raise WorkloadError(
            f"conv_transpose2d: pad={size['pad']} leaves no output of {name}={extent} "
            f"with k{name}={taps} and stride={size['stride']}"
        )
    return count


CONV_TRANSPOSE2D = Operator(
    name="conv_transpose2d",
    doc="y[n, f, h * stride + kh - pad, ...] += x[n, c, h, w] * w[c, f, kh, kw], NCHW",
    sizes={
        "n": 1, "c": None, "h": None, "w": None, "f": None, "kh": None, "kw": None,
        "stride": 1, "pad": 0,
    },
    dtypes=("f32", "f64", "i32"),
    text=_text,
    words={},
)  # fmt: skip
