"""Small programs that the schedule tests transform. Loop names are those the steps use."""

from __future__ import annotations

from tuner.frontends.text import parse
from tuner.ir.nodes import Program

#: A product, a bias and a relu, a nest each.
LAYERS = """
def f(x: f32[5, 3], w: f32[3, 7], b: f32[7], y: f32[5, 7]):
    h = buffer(f32[5, 7])
    g = buffer(f32[5, 7])
    for i, j in grid(5, 7):
        h[i, j] = 0.0
        for k in range(3):
            h[i, j] += x[i, k] * w[k, j]
    for p, q in grid(5, 7):
        g[p, q] = h[p, q] + b[q]
    for r, s in grid(5, 7):
        y[r, s] = max(g[r, s], 0.0)
"""


def matmul(m: int, n: int, k: int) -> Program:
    """c[i, j] = sum over k of a[i, k] * b[k, j]."""
    return parse(
        f"""
def matmul(a: f32[{m}, {k}], b: f32[{k}, {n}], c: f32[{m}, {n}]):
    for i, j in grid({m}, {n}):
        c[i, j] = 0.0
        for k in range({k}):
            c[i, j] += a[i, k] * b[k, j]
"""
    )


def dense_relu(m: int, n: int, k: int) -> Program:
    """y = max(x @ w + b, 0), with the product in a buffer of its own."""
    return parse(
        f"""
def dense_relu(x: f32[{m}, {k}], w: const[f32[{k}, {n}]], b: const[f32[{n}]], y: f32[{m}, {n}]):
    h = buffer(f32[{m}, {n}])
    for i, j in grid({m}, {n}):
        h[i, j] = 0.0
        for k in range({k}):
            h[i, j] += x[i, k] * w[k, j]
    for r, s in grid({m}, {n}):
        y[r, s] = max(h[r, s] + b[s], 0.0)
"""
    )


def conv2d(c: int, size: int, f: int, kernel: int, pad: int) -> Program:
    """One square image, stride 1, zero padding by a guarded read."""
    out, edge = size + 2 * pad - kernel + 1, size + pad
    inside = f"i + p >= {pad} and i + p < {edge} and j + q >= {pad} and j + q < {edge}"
    read = f"x[n, c, i + p - {pad}, j + q - {pad}] if {inside} else 0.0"
    return parse(
        f"""
def conv2d(x: f32[1, {c}, {size}, {size}], w: const[f32[{f}, {c}, {kernel}, {kernel}]],
           y: f32[1, {f}, {out}, {out}]):
    for n, f, i, j in grid(1, {f}, {out}, {out}):
        y[n, f, i, j] = 0.0
        for c, p, q in grid({c}, {kernel}, {kernel}):
            y[n, f, i, j] += ({read}) * w[f, c, p, q]
"""
    )


def softmax(rows: int, cols: int) -> Program:
    """Row by row: maximum, exponentials, their sum, quotients."""
    return parse(
        f"""
def softmax(x: f32[{rows}, {cols}], y: f32[{rows}, {cols}]):
    m = buffer(f32[{rows}])
    s = buffer(f32[{rows}])
    for i in range({rows}):
        m[i] = -inf
        for j in range({cols}):
            m[i] = max(m[i], x[i, j])
        for e in range({cols}):
            y[i, e] = exp(x[i, e] - m[i])
        s[i] = 0.0
        for t in range({cols}):
            s[i] += y[i, t]
        for d in range({cols}):
            y[i, d] = y[i, d] / s[i]
"""
    )


def scale(n: int) -> Program:
    """y[i] = 2 * x[i]: the smallest program."""
    return parse(
        f"""
def scale(x: f32[{n}], y: f32[{n}]):
    for i in range({n}):
        y[i] = x[i] * 2.0
"""
    )
