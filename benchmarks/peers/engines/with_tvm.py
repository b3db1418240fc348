"""Apache TVM's MetaSchedule: what its tuning found once (benchmarks.peers.tune_tvm)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tvm

from benchmarks.numpys import Array
from benchmarks.peers import found
from benchmarks.peers.catalogue import PeerWorkload
from benchmarks.peers.engine import Engine, Ready, Unsupported


def start(threads: int, folder: Path) -> Engine:
    """An engine that loads stored libraries."""

    def prepare(work: PeerWorkload, inputs: list[Array]) -> Ready:
        stored = found.place(folder, "tvm", work.name, threads)
        if not (stored / found.LIBRARY).exists():
            raise Unsupported("nothing tuned yet with so many threads")
        module = tvm.runtime.load_module(str(stored / found.LIBRARY))
        arrays = [tvm.runtime.from_dlpack(array) for array in inputs]
        result = tvm.runtime.tensor(np.zeros(work.output, np.float32))
        run = module["main"]
        return Ready(lambda: run(*arrays, result), result.numpy)

    return Engine(f"tvm {tvm.__version__}", prepare)
