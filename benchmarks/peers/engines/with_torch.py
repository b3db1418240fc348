"""PyTorch, eager: oneDNN and MKL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.numpys import Array
from benchmarks.peers.catalogue import PeerWorkload
from benchmarks.peers.engine import Engine, Ready, kept

_F = torch.nn.functional

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "matmul": lambda work, a, b: a @ b,
    "batch_matmul_transposed": lambda work, q, k: torch.bmm(q, k.transpose(1, 2)),
    "conv2d": lambda work, x, w: _F.conv2d(x, w, stride=work.stride, padding=work.pad),
    "depthwise_conv2d": lambda work, x, w: _F.conv2d(
        x, w.unsqueeze(1), stride=work.stride, padding=work.pad, groups=work.groups
    ),
    "softmax": lambda work, x: torch.softmax(x, 1),
    "layer_norm": lambda work, x, w, b: _F.layer_norm(x, w.shape, w, b),
    "dense_relu": lambda work, x, w, b: torch.relu_(torch.addmm(b, x, w)),
    "transpose": lambda work, x: x.t().contiguous(),
    "row_sum": lambda work, x: x.sum(1),
    "gelu": lambda work, x: _F.gelu(x),
}


def start(threads: int, folder: Path) -> Engine:
    """An engine without gradients."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)

    def prepare(work: PeerWorkload, inputs: list[Array]) -> Ready:
        tensors = [torch.from_numpy(array) for array in inputs]
        function = FUNCTIONS[work.op]
        return kept(lambda: function(work, *tensors), lambda tensor: tensor.numpy())

    return Engine(f"torch {torch.__version__}", prepare)
