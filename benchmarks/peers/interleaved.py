"""Peers in turn on one workload, with the machine's limits before and after."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from benchmarks.peers.catalogue import PeerWorkload
from benchmarks.peers.process import PeerGone
from benchmarks.peers.times import Row, Times
from tuner.record import Peaks
from workers.hostlock import HostLock

#: each peer's turns, and samples in a turn
TURNS, SAMPLES = 6, 5
#: seconds before each turn, in which the threads of the one before come to rest
PAUSE_S = 0.01


class Peer(Protocol):
    """What benchmarks.peers.process.PeerProcess is."""

    version: str

    def ask(self, **request: Any) -> dict[str, Any]: ...
    def close(self) -> None: ...


@dataclass(slots=True)
class Field:
    """The peers of one number of threads; one that ends is started again for the next workload."""

    names: tuple[str, ...]
    start: Callable[[str], Peer]
    _running: dict[str, Peer] = field(default_factory=dict)
    #: why a peer cannot be started at all
    _absent: dict[str, str] = field(default_factory=dict)

    def open(self, work: PeerWorkload) -> tuple[dict[str, Peer], dict[str, str]]:
        """The peers that are ready to be timed on `work`, and why the others are not."""
        ready: dict[str, Peer] = {}
        skipped: dict[str, str] = {}
        for name in self.names:
            try:
                peer = self._peer(name)
            except PeerGone as reason:
                self._absent[name] = skipped[name] = str(reason)
                continue
            answer = ask(peer, do="open", workload=work.name)
            if "skipped" in answer:
                skipped[name] = answer["skipped"]
            else:
                ready[name] = peer
            self._forget_if_gone(name, answer)
        return ready, skipped

    def measure(self, work: PeerWorkload, threads: int, lock: HostLock, limits: Limits) -> Row:
        """All of them in turn, nobody else measuring on this host."""
        ready, skipped = self.open(work)
        before = limits(work)
        samples: dict[str, list[float]] = {name: [] for name in ready}
        for _ in range(TURNS):
            for name in list(ready):
                time.sleep(PAUSE_S)
                with lock.held():
                    answer = ask(ready[name], do="time", samples=SAMPLES)
                if "skipped" in answer:
                    skipped[name] = answer["skipped"]
                    del ready[name], samples[name]
                    self._forget_if_gone(name, answer)
                else:
                    samples[name] += answer["samples_s"]
        after = limits(work)
        versions = {name: peer.version for name, peer in ready.items()}
        for name, peer in ready.items():
            self._forget_if_gone(name, ask(peer, do="close"))
        times = {name: Times.of(taken) for name, taken in samples.items()}
        peaks = Peaks(
            flops_per_s=max(before.flops_per_s, after.flops_per_s),
            copy_bytes_per_s=max(before.copy_bytes_per_s, after.copy_bytes_per_s),
        )
        return Row(work, threads, peaks, times, skipped, versions)

    def close(self) -> None:
        """End them all."""
        for peer in self._running.values():
            peer.close()
        self._running.clear()

    def _peer(self, name: str) -> Peer:
        if name in self._absent:
            raise PeerGone(self._absent[name])
        if name not in self._running:
            self._running[name] = self.start(name)
        return self._running[name]

    def _forget_if_gone(self, name: str, answer: Mapping[str, Any]) -> None:
        if answer.get("gone"):
            self._running.pop(name).close()


#: Measures the machine's limits at the size of a workload.
Limits = Callable[[PeerWorkload], Peaks]


def ask(peer: Peer, **request: Any) -> dict[str, Any]:
    """The peer's answer; where it is gone, {"skipped": why, "gone": True}."""
    try:
        return peer.ask(**request)
    except PeerGone as reason:
        return {"skipped": str(reason), "gone": True}
