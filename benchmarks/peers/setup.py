"""Where peers and what they found are; starts and measures them."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import found, serving
from benchmarks.peers.catalogue import PeerWorkload
from benchmarks.peers.interleaved import Field
from benchmarks.peers.process import ROOT, PeerProcess, environment
from benchmarks.peers.times import OURS, Row
from tuner.target import target
from workers.fingerprint import measuring_cpus
from workers.hostlock import HostLock
from workers.measure import Bench
from workers.peaks import measure_peaks
from workers.toolchain import cache_dir, find_compiler

PEERS = ("numpy", "torch", "inductor", "onnxruntime", "tvm", "halide", OURS)
#: whose interpreter a peer uses
SHARES = {"inductor": "torch"}
#: what our time to a result is compared with
TVM_TRIALS = 256


@dataclass(frozen=True, slots=True)
class Setup:
    """Where things are."""

    #: by peer, an interpreter that has it; this one has the others, or nobody has
    pythons: dict[str, str]
    folder: Path

    def command(self, peer: str, module: str, *arguments: str) -> list[str]:
        """Runs a module of benchmarks.peers with the peer's interpreter."""
        python = self.pythons.get(SHARES.get(peer, peer), sys.executable)
        folder = str(self.folder.resolve())
        return [python, "-m", f"benchmarks.peers.{module}", *arguments, "--folder", folder]

    def start(self, peer: str, threads: int) -> PeerProcess:
        """A peer's process on as many cores as it has threads. Raises PeerGone."""
        command = self.command(peer, "child", peer, "--cpus", cpus(threads))
        return PeerProcess(command, threads, self.folder / "logs" / f"{peer}-{threads}t.log")

    def tune_tvm(self, work: PeerWorkload, threads: int) -> str:
        """Tune with MetaSchedule and store, unless that was done before; what went wrong, or
        an empty text."""
        if found.about(self.folder, "tvm", work.name, threads) is not None:
            return ""
        command = self.command(
            "tvm", "tune_tvm", work.name, "--cpus", cpus(threads), "--trials", str(TVM_TRIALS)
        )
        log = self.folder / "logs" / f"tune_tvm-{work.name}-{threads}t.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as file:
            done = subprocess.run(
                command, stdout=file, stderr=file, env=environment(threads), cwd=ROOT, check=False
            )
        return f"ended with status {done.returncode}, see {log}" if done.returncode else ""


def cpus(threads: int) -> str:
    """The cores that so many threads are timed on, like 1,0. Raises SystemExit where this process
    may use fewer."""
    usable = measuring_cpus()
    if threads > len(usable):
        raise SystemExit(
            f"bench-peers: {threads} threads need as many cores, this process may use "
            f"{len(usable)}: give --threads {len(usable)}"
        )
    return ",".join(map(str, usable[:threads]))


def measure(
    works: Sequence[PeerWorkload],
    threads: int,
    names: tuple[str, ...],
    start: Callable[[str, int], PeerProcess],
    seen: Callable[[Row], None],
) -> list[Row]:
    """All peers on all workloads with one number of threads; each row is `seen` when it comes."""
    compiler, cache = find_compiler(), cache_dir()
    lock = HostLock(cache)
    bench = Bench(cache, measuring_cpus(), lock, "")
    hardware = target(serving.target_name(threads))
    peers = Field(names, lambda name: start(name, threads))
    rows = []
    try:
        for work in works:
            row = peers.measure(
                work, threads, lock,
                lambda work: measure_peaks(hardware, work.io_bytes, compiler, cache, bench),
            )  # fmt: skip
            rows.append(row)
            seen(row)
    finally:
        peers.close()
    return rows


def names_of(known: Collection[str]) -> Callable[[str], list[str]]:
    """A type of argument: names of `known`, separated by commas."""

    def parse(text: str) -> list[str]:
        names = text.split(",")
        if unknown := [name for name in names if name not in known]:
            raise argparse.ArgumentTypeError(
                f"unknown {', '.join(unknown)}; there are: {', '.join(known)}"
            )
        return names

    return parse


def interpreter(text: str) -> tuple[str, str]:
    """A type of argument: PEER=INTERPRETER."""
    peer, _, path = text.partition("=")
    if peer not in PEERS or not Path(path).is_file():
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected PEER=INTERPRETER with an existing file and one of "
            f"{', '.join(PEERS)}"
        )
    return peer, path
