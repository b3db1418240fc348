"""The workloads of the transfer benchmark: mixed kinds, small enough to be measured often."""

from __future__ import annotations

from dataclasses import dataclass, field

from tuner.frontends.text import parse
from tuner.workload.catalogue import program_text
from tuner.workload.operator import Sizes
from tuner.workload.workload import Workload, admit


@dataclass(frozen=True, slots=True)
class Asked:
    """A workload by name: of the catalogue, or with a text of its own."""

    name: str
    op: str
    sizes: Sizes = field(default_factory=dict)
    dtype: str = "f32"
    text: str = ""

    def workload(self) -> Workload:
        """Its canonical form."""
        if self.text:
            return admit(parse(self.text))
        return admit(parse(program_text(self.op, self.sizes, self.dtype)), self.op, self.sizes)


def _of(op: str, dtype: str = "f32", /, **sizes: int | str) -> Asked:
    numbers = "x".join(str(size) for size in sizes.values())
    kind = op if dtype == "f32" else f"{op} {dtype}"
    return Asked(f"{kind} {numbers}", op, sizes, dtype)


_GRAM = """
def gram(x: f32[200, 120], y: f32[120, 120]):
    for i, j in grid(120, 120):
        y[i, j] = 0.0
        for k in range(200):
            y[i, j] += x[k, i] * x[k, j]
"""
_GATED = """
def gated(x: f32[64, 96], u: const[f32[96, 160]], v: const[f32[96, 160]], y: f32[64, 160]):
    a = buffer(f32[64, 160])
    b = buffer(f32[64, 160])
    for i, j in grid(64, 160):
        a[i, j] = 0.0
        for k in range(96):
            a[i, j] += x[i, k] * u[k, j]
    for i, j in grid(64, 160):
        b[i, j] = 0.0
        for k in range(96):
            b[i, j] += x[i, k] * v[k, j]
    for i, j in grid(64, 160):
        y[i, j] = max(a[i, j], 0.0) * b[i, j]
"""
_ATTENTION = """
def scores(q: f32[64, 32], k: f32[96, 32], y: f32[64, 96]):
    s = buffer(f32[64, 96])
    m = buffer(f32[64])
    t = buffer(f32[64])
    for i, j in grid(64, 96):
        s[i, j] = 0.0
        for d in range(32):
            s[i, j] += q[i, d] * k[j, d]
    for i in range(64):
        m[i] = -inf
        for j in range(96):
            m[i] = max(m[i], s[i, j])
        t[i] = 0.0
        for j in range(96):
            y[i, j] = exp(s[i, j] - m[i])
            t[i] += y[i, j]
        for j in range(96):
            y[i, j] = y[i, j] / t[i]
"""
_DISTANCES = """
def distances(x: f32[100, 48], c: f32[80, 48], y: f32[100, 80]):
    for i, j in grid(100, 80):
        y[i, j] = 0.0
        for k in range(48):
            y[i, j] += (x[i, k] - c[j, k]) * (x[i, k] - c[j, k])
"""

WORKLOADS: tuple[Asked, ...] = (
    _of("matmul", m=128, n=128, k=128),
    _of("matmul", m=127, n=131, k=61),
    _of("matmul", m=4, n=1024, k=256),
    _of("matmul", m=256, n=48, k=256),
    _of("matmul", m=72, n=200, k=300),
    _of("matmul", "i8", m=96, n=128, k=128),
    _of("matmul", "bf16", m=64, n=160, k=128),
    _of("matmul", "f64", m=80, n=96, k=128),
    _of("batch_matmul", b=12, m=64, n=64, k=32),
    _of("batch_matmul", b=8, m=32, n=100, k=50),
    _of("dense", m=64, n=256, k=128, activation="relu"),
    _of("dense", m=33, n=300, k=100, activation="gelu"),
    _of("dense", m=16, n=512, k=256),
    _of("conv1d", c=32, l=256, f=32, k=3, pad=1),
    _of("conv1d", c=16, l=512, f=24, k=5, dilation=2, stride=2),
    _of("conv1d", c=24, l=200, f=48, k=7, pad=3),
    _of("conv2d", c=32, h=28, w=28, f=32, kh=3, kw=3, pad=1),
    _of("conv2d", c=64, h=28, w=28, f=64, kh=1, kw=1),
    _of("conv2d", c=16, h=28, w=28, f=32, kh=3, kw=3, dilation=2),
    _of("conv2d", c=3, h=56, w=56, f=16, kh=7, kw=7, stride=2, pad=3),
    _of("conv2d", c=16, h=28, w=28, f=32, kh=3, kw=3, pad=1, layout="nhwc"),
    _of("conv2d", c=48, h=14, w=14, f=96, kh=3, kw=3, stride=2, pad=1),
    _of("conv2d", c=32, h=30, w=30, f=48, kh=1, kw=1, layout="nhwc"),
    _of("conv_transpose2d", c=16, h=14, w=14, f=16, kh=4, kw=4, stride=2, pad=1),
    _of("conv_transpose2d", c=12, h=20, w=20, f=24, kh=3, kw=3),
    _of("softmax", rows=64, cols=512),
    _of("softmax", rows=37, cols=1000),
    _of("softmax", rows=200, cols=128),
    Asked("gram 200x120", "", text=_GRAM),
    Asked("gated 64x160x96", "", text=_GATED),
    Asked("scores 64x96x32", "", text=_ATTENTION),
    Asked("distances 100x80x48", "", text=_DISTANCES),
    # Spaces of fewer points than are drawn of the others: all of them.
    _of("layer_norm", rows=64, cols=768),
    _of("rms_norm", rows=128, cols=500),
    _of("argmax", rows=256, cols=512),
    _of("transpose", rows=512, cols=384),
    _of("transpose", rows=300, cols=500),
    _of("concat", rows=128, left=200, right=300),
    _of("depthwise_conv2d", c=32, h=28, w=28, kh=3, kw=3, pad=1),
    _of("max_pool2d", c=32, h=56, w=56, k=2),
    _of("avg_pool2d", c=32, h=28, w=28, k=3, stride=1),
    _of("reduce_sum", rows=256, cols=1000),
    _of("embedding", n=256, rows=1000, cols=250),
    _of("matmul", m=1, n=1024, k=512),
    _of("gelu", n=60000),
    _of("silu", n=100000),
    _of("add", n=200000),
)  # fmt: skip
