"""What Tilewright's service served (benchmarks.peers.serving), compiled as its header says."""

from __future__ import annotations

from pathlib import Path

from benchmarks.numpys import Array, aligned
from benchmarks.peers import found
from benchmarks.peers.catalogue import PeerWorkload
from benchmarks.peers.engine import Engine, Ready, Unsupported
from tilewright import load


def start(threads: int, folder: Path) -> Engine:
    """An engine that loads stored kernels."""

    def prepare(work: PeerWorkload, inputs: list[Array]) -> Ready:
        path = found.place(folder, "tilewright", work.name, threads) / found.KERNEL
        if not path.exists():
            raise Unsupported("nothing served yet with so many threads")
        output = aligned(work.output)
        kernel = load(path.read_text("utf-8"))
        given = dict(zip((p.name for p in kernel.inputs), inputs, strict=True))
        constants = {p.name: given.pop(p.name) for p in kernel.constants}
        ready = kernel.prepare(**constants).bind(**given, out=output)
        return Ready(ready, lambda: output)

    return Engine("tilewright", prepare)
