"""What a peer's process is made of: an engine which prepares calls, and the calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.numpys import Array
from benchmarks.peers.catalogue import PeerWorkload


class Unsupported(Exception):
    """A peer does not do this workload; the text says why."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A computation that is ready to be timed."""

    call: Callable[[], Any]
    #: the output of the last call
    result: Callable[[], Array]


@dataclass(frozen=True, slots=True)
class Engine:
    """A peer in its process."""

    #: like "numpy 2.1.0"
    version: str
    #: everything that is done once: building, binding, packing constants. Raises Unsupported.
    prepare: Callable[[PeerWorkload, list[Array]], Ready]


def kept(call: Callable[[], Any], to_numpy: Callable[[Any], Array] = lambda r: r) -> Ready:
    """Of a call that returns its result."""
    last: list[Any] = [None]

    def run() -> None:
        last[0] = call()

    return Ready(run, lambda: to_numpy(last[0]))
