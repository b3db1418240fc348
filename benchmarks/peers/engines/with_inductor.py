"""torch.compile: TorchInductor's C++, weights frozen into the program where there are any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torch._inductor.config

from benchmarks.numpys import Array
from benchmarks.peers.catalogue import PeerWorkload
from benchmarks.peers.engine import Engine, Ready, Unsupported, kept
from benchmarks.peers.engines.with_torch import FUNCTIONS


def start(threads: int, folder: Path) -> Engine:
    """An engine that compiles each workload anew."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    torch._inductor.config.compile_threads = 1  # in this process: a pool takes long to start
    torch._inductor.config.freezing = True
    torch._inductor.config.cpp.threads = threads

    def prepare(work: PeerWorkload, inputs: list[Array]) -> Ready:
        module, given = _module(work, [torch.from_numpy(array) for array in inputs])
        torch._dynamo.reset()
        compiled = torch.compile(module, dynamic=False)
        try:
            compiled(*given)
        except torch._dynamo.exc.TorchDynamoException as error:
            raise Unsupported(str(error).partition("\n")[0]) from error
        return kept(lambda: compiled(*given), lambda tensor: tensor.numpy())

    return Engine(f"torch.compile {torch.__version__}", prepare)


def _module(work: PeerWorkload, tensors: list[Any]) -> tuple[Any, list[Any]]:
    """The workload with its weights as parameters, and what it is called with."""
    weights = {i: torch.nn.Parameter(tensors[i], requires_grad=False) for i in work.constants}

    def forward(self: Any, *given: Any) -> Any:
        rest = iter(given)
        every = [
            getattr(self, f"w{i}") if i in weights else next(rest) for i in range(len(tensors))
        ]
        return FUNCTIONS[work.op](work, *every)

    module = type("Workload", (torch.nn.Module,), {"forward": forward})()
    for i, weight in weights.items():
        module.register_parameter(f"w{i}", weight)
    return module.eval(), [t for i, t in enumerate(tensors) if i not in weights]
