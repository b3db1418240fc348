"""What each operator of the catalogue computes, in numpy, and the cases that are tried."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from tuner.workload.operator import Size

Arrays = Mapping[str, np.ndarray]
Sizes = Mapping[str, Size]
Reference = Callable[[Arrays, Sizes], np.ndarray]

_erf = np.vectorize(math.erf)


def gelu(x: np.ndarray) -> np.ndarray:
    return x * (1 + _erf(x / math.sqrt(2))) / 2


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def dense(of: Arrays, size: Sizes) -> np.ndarray:
    y = of["x"] @ of["w"] + of["b"]
    return {"none": lambda v: v, "relu": lambda v: np.maximum(v, 0), "gelu": gelu}[
        str(size["activation"])
    ](y)


def softmax(of: Arrays, _: Sizes) -> np.ndarray:
    e = np.exp(of["x"] - of["x"].max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def windows(x: np.ndarray, taps: tuple[int, int], size: Sizes, fill: float = 0.0) -> np.ndarray:
    """[n, c, oh, ow, kh, kw] of x[n, c, h, w]."""
    pad, stride, gap = (int(size.get(name, least)) for name, least in
                        (("pad", 0), ("stride", 1), ("dilation", 1)))  # fmt: skip
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=fill)
    spans = tuple(gap * (k - 1) + 1 for k in taps)
    view = np.lib.stride_tricks.sliding_window_view(x, spans, axis=(2, 3))
    return view[:, :, ::stride, ::stride, ::gap, ::gap]


def conv2d(of: Arrays, size: Sizes) -> np.ndarray:
    x, w = of["x"], of["w"]
    last = size["layout"] == "nhwc"
    if last:
        x, w = np.moveaxis(x, 3, 1), np.moveaxis(w, 3, 1)
    groups = int(size["groups"])
    view = windows(x, (w.shape[2], w.shape[3]), size)
    n, c, *rest = view.shape
    view = view.reshape(n, groups, c // groups, *rest)
    w = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    y = np.einsum("ngcijpq,gfcpq->ngfijpq", view, w).sum(axis=(-1, -2))
    y = y.reshape(n, -1, *y.shape[3:])
    return np.moveaxis(y, 1, 3) if last else y


def conv1d(of: Arrays, size: Sizes) -> np.ndarray:
    """A convolution in two dimensions of an image with one column; `pad` is in the length only."""
    pad = int(size["pad"])
    wide = {"x": np.pad(of["x"], ((0, 0), (0, 0), (pad, pad)))[..., None], "w": of["w"][..., None]}
    return conv2d(wide, {**size, "pad": 0, "layout": "nchw"})[..., 0]


def depthwise_conv2d(of: Arrays, size: Sizes) -> np.ndarray:
    w = of["w"]
    return np.einsum("ncijpq,cpq->ncij", windows(of["x"], w.shape[1:], size), w)


def conv_transpose2d(of: Arrays, size: Sizes) -> np.ndarray:
    """Each input element adds its multiple of the filter to the output."""
    x, w, stride, pad = of["x"], of["w"], int(size["stride"]), int(size["pad"])
    n, _, h, width = x.shape
    _, f, kh, kw = w.shape
    y = np.zeros((n, f, (h - 1) * stride + kh, (width - 1) * stride + kw), x.dtype)
    for i in range(h):
        for j in range(width):
            part = np.einsum("nc,cfpq->nfpq", x[:, :, i, j], w)
            y[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw] += part
    return y[:, :, pad : y.shape[2] - pad, pad : y.shape[3] - pad]


def max_pool2d(of: Arrays, size: Sizes) -> np.ndarray:
    k = int(size["k"])
    return windows(of["x"], (k, k), size, -np.inf).max(axis=(-1, -2))


def avg_pool2d(of: Arrays, size: Sizes) -> np.ndarray:
    k = int(size["k"])
    return windows(of["x"], (k, k), size).mean(axis=(-1, -2))


def layer_norm(of: Arrays, _: Sizes) -> np.ndarray:
    x = of["x"]
    mean, var = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * of["w"] + of["b"]


def rms_norm(of: Arrays, _: Sizes) -> np.ndarray:
    x = of["x"]
    mean = (x**2).mean(axis=1, keepdims=True)
    return x / np.sqrt(mean + np.finfo(x.dtype).eps) * of["w"]


def batch_norm(of: Arrays, _: Sizes) -> np.ndarray:
    mean, var, w, b = (of[name][:, None, None] for name in ("mean", "var", "w", "b"))
    return (of["x"] - mean) / np.sqrt(np.maximum(var, 0) + 1e-5) * w + b


def embedding(of: Arrays, _: Sizes) -> np.ndarray:
    return of["table"][np.clip(of["ids"], 0, len(of["table"]) - 1)]


REFERENCES: dict[str, Reference] = {
    "matmul": lambda of, _: of["a"] @ of["b"],
    "batch_matmul": lambda of, _: of["a"] @ of["b"],
    "dense": dense, "softmax": softmax, "conv1d": conv1d, "conv2d": conv2d,
    "depthwise_conv2d": depthwise_conv2d, "conv_transpose2d": conv_transpose2d,
    "max_pool2d": max_pool2d, "avg_pool2d": avg_pool2d,
    "layer_norm": layer_norm, "rms_norm": rms_norm, "batch_norm": batch_norm,
    "reduce_sum": lambda of, _: of["x"].sum(axis=1, dtype=of["x"].dtype),
    "argmax": lambda of, _: of["x"].argmax(axis=1),
    "transpose": lambda of, _: of["x"].T,
    "concat": lambda of, _: np.concatenate((of["a"], of["b"]), axis=1),
    "pad": lambda of, size: np.pad(of["x"], int(size["pad"])),
    "slice": lambda of, size: of["x"][
        :, int(size["start"]) : int(size["stop"]) : int(size["step"])
    ],
    "embedding": embedding,
    "relu": lambda of, _: np.maximum(of["x"], 0),
    "gelu": lambda of, _: gelu(of["x"]),
    "gelu_tanh": lambda of, _: gelu_tanh(of["x"]),
    "silu": lambda of, _: of["x"] * sigmoid(of["x"]),
    "sigmoid": lambda of, _: sigmoid(of["x"]),
    "tanh": lambda of, _: np.tanh(of["x"]),
    "erf": lambda of, _: _erf(of["x"]),
    "exp": lambda of, _: np.exp(of["x"]),
    "abs": lambda of, _: np.abs(of["x"]),
    "neg": lambda of, _: -of["x"],
    "add": lambda of, _: of["a"] + of["b"],
    "sub": lambda of, _: of["a"] - of["b"],
    "mul": lambda of, _: of["a"] * of["b"],
    "div": lambda of, _: of["a"] / of["b"],
    "minimum": lambda of, _: np.minimum(of["a"], of["b"]),
    "maximum": lambda of, _: np.maximum(of["a"], of["b"]),
    "bias_gelu": lambda of, _: gelu(of["x"] + of["b"]),
    "bias_relu": lambda of, _: np.maximum(of["x"] + of["b"], 0),
    "scale_shift": lambda of, _: of["x"] * of["s"][:, None] * of["w"] + of["b"],
}  # fmt: skip

_FLAT = (
    "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "erf", "exp", "abs", "neg",
    "add", "sub", "mul", "div", "minimum", "maximum",
)  # fmt: skip
CASES: list[tuple[str, dict[str, Size]]] = [
    ("matmul", {"m": 5, "n": 19, "k": 3}),
    ("matmul", {"m": 1, "n": 1, "k": 1}),
    ("batch_matmul", {"b": 3, "m": 5, "n": 17, "k": 7}),
    ("dense", {"m": 4, "n": 21, "k": 6}),
    ("dense", {"m": 4, "n": 5, "k": 6, "activation": "relu"}),
    ("dense", {"m": 5, "n": 18, "k": 3, "activation": "gelu"}),
    ("conv1d", {"c": 3, "l": 19, "f": 5, "k": 3}),
    ("conv1d", {"n": 2, "c": 4, "l": 23, "f": 6, "k": 3, "pad": 2, "stride": 2, "dilation": 2}),
    ("conv1d", {"c": 4, "l": 9, "f": 6, "k": 2, "groups": 2, "pad": 1}),
    ("conv2d", {"c": 3, "h": 8, "w": 7, "f": 4, "kh": 3, "kw": 2}),
    ("conv2d", {"n": 2, "c": 3, "h": 8, "w": 17, "f": 17, "kh": 3, "kw": 3, "pad": 1}),
    ("conv2d", {"c": 2, "h": 9, "w": 8, "f": 3, "kh": 3, "kw": 3, "pad": 2, "stride": 2}),
    ("conv2d", {"c": 2, "h": 9, "w": 9, "f": 2, "kh": 3, "kw": 2, "dilation": 3, "pad": 1}),
    ("conv2d", {"c": 4, "h": 5, "w": 5, "f": 6, "kh": 2, "kw": 2, "groups": 2, "stride": 3}),
    ("conv2d", {"n": 2, "c": 5, "h": 7, "w": 9, "f": 17, "kh": 3, "kw": 3, "pad": 1,
                "layout": "nhwc"}),
    ("conv2d", {"c": 4, "h": 9, "w": 5, "f": 6, "kh": 2, "kw": 3, "groups": 2, "stride": 2,
                "layout": "nhwc"}),
    ("depthwise_conv2d", {"n": 2, "c": 3, "h": 9, "w": 21, "kh": 3, "kw": 3, "pad": 1}),
    ("depthwise_conv2d", {"c": 5, "h": 9, "w": 8, "kh": 3, "kw": 2, "stride": 2}),
    ("conv_transpose2d", {"c": 3, "h": 5, "w": 19, "f": 4, "kh": 3, "kw": 2}),
    ("conv_transpose2d", {"n": 2, "c": 3, "h": 4, "w": 5, "f": 4, "kh": 3, "kw": 3, "stride": 2,
                          "pad": 1}),
    ("max_pool2d", {"n": 2, "c": 3, "h": 9, "w": 20, "k": 3}),
    ("max_pool2d", {"c": 3, "h": 9, "w": 20, "k": 3, "stride": 1, "pad": 1}),
    ("avg_pool2d", {"c": 3, "h": 8, "w": 37, "k": 2}),
    ("avg_pool2d", {"n": 2, "c": 2, "h": 7, "w": 8, "k": 3, "stride": 2, "pad": 1}),
    ("softmax", {"rows": 3, "cols": 37}),
    ("layer_norm", {"rows": 3, "cols": 37}),
    ("rms_norm", {"rows": 3, "cols": 37}),
    ("batch_norm", {"n": 2, "c": 3, "h": 5, "w": 19}),
    ("reduce_sum", {"rows": 5, "cols": 37}),
    ("argmax", {"rows": 5, "cols": 37}),
    ("transpose", {"rows": 5, "cols": 37}),
    ("concat", {"rows": 3, "left": 5, "right": 37}),
    ("pad", {"rows": 3, "cols": 37, "pad": 2}),
    ("slice", {"rows": 3, "cols": 37, "start": 2, "step": 2}),
    ("slice", {"rows": 3, "cols": 37, "start": 1, "stop": 30}),
    ("embedding", {"n": 7, "rows": 5, "cols": 21}),
    *((op, {"n": 37}) for op in _FLAT),
    *((op, {"rows": 3, "cols": 37}) for op in ("bias_gelu", "bias_relu", "scale_shift")),
]  # fmt: skip
