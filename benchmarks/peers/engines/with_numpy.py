"""numpy with the OpenBLAS that its wheel brings."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.numpys import Array
from benchmarks.peers.catalogue import PeerWorkload
from benchmarks.peers.engine import Engine, Ready, kept


def start(threads: int, folder: Path) -> Engine:
    """The parent has set OpenBLAS's number of threads in the environment."""

    def prepare(work: PeerWorkload, inputs: list[Array]) -> Ready:
        return kept(lambda: work.numpy(*inputs))

    return Engine(f"numpy {np.__version__}", prepare)
