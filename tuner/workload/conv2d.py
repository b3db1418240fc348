"""Two-dimensional convolution, NCHW, zero-padded."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.errors import WorkloadError
from tuner.workload.operator import Operator


def _text(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
    n, c, h, w, f = (size[name] for name in ("n", "c", "h", "w", "f"))
    kh, kw, groups = size["kh"], size["kw"], size["groups"]
    if c % groups or f % groups:
        raise WorkloadError(f"conv2d: groups={groups} must divide both c={c} and f={f}")
    oh, ow = _outputs("h", h, kh, size), _outputs("w", w, kw, size)
    channel = "c" if groups == 1 else f"f // {f // groups} * {c // groups} + c"
    row, column = _place("i", "p", size), _place("j", "q", size)
    read = f"x[n, {channel}, {row}, {column}]"
    if size["pad"]:
        read = f"({read} if 0 <= {row} < {h} and 0 <= {column} < {w} else 0)"
    return f"""
def conv2d(x: {dtype}[{n}, {c}, {h}, {w}], w: const[{dtype}[{f}, {c // groups}, {kh}, {kw}]],
           y: {dtype}[{n}, {f}, {oh}, {ow}]):
    for n, f, i, j in grid({n}, {f}, {oh}, {ow}):
        y[n, f, i, j] = 0
        for c, p, q in grid({c // groups}, {kh}, {kw}):
            y[n, f, i, j] += {read} * w[f, c, p, q]
"""


def _place(out: str, tap: str, size: Mapping[str, int]) -> str:
    """Subscript of the input element that output `out` meets at filter element `tap`."""
    strided = out if size["stride"] == 1 else f"{out} * {size['stride']}"
    dilated = tap if size["dilation"] == 1 else f"{tap} * {size['dilation']}"
    shift = f" - {size['pad']}" if size["pad"] else ""
    return f"{strided} + {dilated}{shift}"


def _outputs(name: str, extent: int, taps: int, size: Mapping[str, int]) -> int:
    room = extent + 2 * size["pad"] - size["dilation"] * (taps - 1) - 1
    if room < 0:
        raise WorkloadError(
            f"conv2d: a filter of k{name}={taps} (dilation {size['dilation']}) is larger than "
            f"the padded input, {name}={extent} with pad={size['pad']}"
        )
    return room // size["stride"] + 1


CONV2D = Operator(
    name="conv2d",
    doc="y[n, f, oh, ow] = sum over c, kh, kw of x[n, c, ...] * w[f, c, kh, kw], NCHW",
    sizes={
        "n": 1, "c": None, "h": None, "w": None, "f": None, "kh": None, "kw": None,
        "stride": 1, "pad": 0, "dilation": 1, "groups": 1,
    },
    dtypes=("f32", "f64", "i32"),
    text=_text,
    words={},
)  # fmt: skip
