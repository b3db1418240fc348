"""Programs that the tests of spaces, features, models and searches share, with small odd sizes."""

from __future__ import annotations

from tuner.frontends.text import parse
from tuner.ir.canonical import canonicalize
from tuner.ir.nodes import Program
from tuner.workload.catalogue import program_text


def canonical(text: str) -> Program:
    """The canonical program of a text."""
    return canonicalize(parse(text))[0]


def operator(op: str, dtype: str = "f32", **sizes: int | str) -> Program:
    """The canonical program of a catalogue operator."""
    return canonical(program_text(op, sizes, dtype))


MATMUL = """def f(a: f32[9, 11], b: f32[11, 19], c: f32[9, 19]):
    for i, j in grid(9, 19):
        c[i, j] = 0.0
        for k in range(11):
            c[i, j] += a[i, k] * b[k, j]
"""

#: Other names, the loops the other way round.
MATMUL_RENAMED = """def g(left: f32[9, 11], right: f32[11, 19], out: f32[9, 19]):
    for column in range(19):
        for row in range(9):
            out[row, column] = 0.0
            for inner in range(11):
                out[row, column] += left[row, inner] * right[inner, column]
"""

#: The start values in a nest of their own, the reduction outermost.
MATMUL_APART = """def f(a: f32[9, 11], b: f32[11, 19], c: f32[9, 19]):
    for i, j in grid(9, 19):
        c[i, j] = 0.0
    for k in range(11):
        for p, q in grid(9, 19):
            c[p, q] += a[p, k] * b[k, q]
"""

#: y = relu(x w + b), the chain of two consumers in nests of their own, one of them transposed.
CHAIN = """def f(x: f32[6, 7], w: const[f32[7, 18]], b: const[f32[18]], y: f32[18, 6]):
    h = buffer(f32[6, 18])
    t = buffer(f32[18, 6])
    for i, j in grid(6, 18):
        h[i, j] = 0.0
        for k in range(7):
            h[i, j] += x[i, k] * w[k, j]
    for p, q in grid(6, 18):
        t[q, p] = h[p, q] + b[q]
    for r, s in grid(6, 18):
        y[s, r] = max(t[s, r], 0.0)
"""

BATCHED = """def f(a: f32[2, 5, 6], b: f32[2, 6, 17], c: f32[2, 5, 17]):
    for n, i, j in grid(2, 5, 17):
        c[n, i, j] = 0.0
        for k in range(6):
            c[n, i, j] += a[n, i, k] * b[n, k, j]
"""

#: The product of one buffer with itself, then with another; both are read twice or made here.
TWO_PRODUCTS = """def f(a: f32[6, 9], w: f32[6, 17], y: f32[6, 17]):
    g = buffer(f32[6, 6])
    for i, j in grid(6, 6):
        g[i, j] = 0.0
        for k in range(9):
            g[i, j] += a[i, k] * a[j, k]
    for p, q in grid(6, 17):
        y[p, q] = 0.0
        for r in range(6):
            y[p, q] += g[p, r] * w[r, q]
"""

TRANSPOSE = """def f(x: f32[40, 24], y: f32[24, 40]):
    for i, j in grid(40, 24):
        y[j, i] = x[i, j] * 2.0
"""

MATVEC = """def f(a: f32[9, 70], x: f32[70], y: f32[9]):
    for i in range(9):
        y[i] = 0.0
        for k in range(70):
            y[i] += a[i, k] * x[k]
"""

SMALLEST = """def f(x: f32[1], y: f32[1]):
    for i in range(1):
        y[i] = x[i] + 1.0
"""

COLUMN_SUMS = """def f(x: f32[9, 37], y: f32[37]):
    for i in range(37):
        y[i] = 0.0
        for k in range(9):
            y[i] += x[k, i]
"""

TEXTS = {
    "matmul": MATMUL, "renamed": MATMUL_RENAMED, "apart": MATMUL_APART, "chain": CHAIN,
    "batched": BATCHED,
    "two_products": TWO_PRODUCTS, "transpose": TRANSPOSE, "matvec": MATVEC, "smallest": SMALLEST,
    "column_sums": COLUMN_SUMS,
}  # fmt: skip

PROGRAMS: dict[str, Program] = {
    **{name: canonical(text) for name, text in TEXTS.items()},
    "dense_relu": operator("dense", m=7, n=35, k=9, activation="relu"),
    "conv2d": operator("conv2d", n=1, c=2, h=4, w=5, f=17, kh=3, kw=3, pad=1),
    "conv2d_stride": operator("conv2d", n=2, c=2, h=7, w=7, f=18, kh=3, kw=3, stride=2, pad=0),
    "softmax": operator("softmax", rows=7, cols=83),
    "depthwise": operator("depthwise_conv2d", n=2, c=3, h=5, w=21, kh=3, kw=3, pad=1),
    "max_pool": operator("max_pool2d", n=1, c=2, h=7, w=19, k=3, stride=2, pad=1),
    "argmax": operator("argmax", rows=3, cols=37),
    "pad": operator("pad", rows=3, cols=37, pad=2),
    "matmul_i32": operator("matmul", dtype="i32", m=7, n=18, k=6),
    "matmul_f64": operator("matmul", dtype="f64", m=7, n=18, k=6),
}
