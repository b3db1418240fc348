"""Targets: one kind of hardware with a thread count. Frozen; a fingerprint names a machine."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tuner.errors import TargetError


@dataclass(frozen=True, slots=True)
class Target:
    """What a space and a code generator may assume of the hardware."""

    name: str
    #: "cpu" or "opencl"
    kind: str
    #: features a machine must have, as /proc/cpuinfo spells them
    isa: tuple[str, ...]
    vector_bits: int
    vector_registers: int
    threads: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    #: compiler flags that follow from `isa`; never -march=native
    flags: tuple[str, ...]
    #: most threads in one block, and in each of its axes; 0 where there are no blocks
    block_threads: int = 0
    #: bytes of memory that the threads of one block share
    shared_bytes: int = 0

    @property
    def has_blocks(self) -> bool:
        """Whether work is given to blocks of threads."""
        return self.block_threads > 0

    def lanes(self, bits: int) -> int:
        """Elements of `bits` in one vector register."""
        return self.vector_bits // bits


def _cpu(name: str, isa: tuple[str, ...], bits: int, registers: int, flags: str) -> Target:
    return Target(
        name=name, kind="cpu", isa=isa, vector_bits=bits, vector_registers=registers, threads=1,
        l1_bytes=32 << 10, l2_bytes=1 << 20, l3_bytes=16 << 20, flags=tuple(flags.split()),
    )  # fmt: skip


_AVX512 = ("avx512f", "avx512dq", "avx512bw", "avx512vl", "avx2", "fma")

TARGETS: dict[str, Target] = {
    t.name: t
    for t in (
        _cpu("cpu-avx512-1t", _AVX512, 512, 32,
             "-mavx2 -mfma -mavx512f -mavx512dq -mavx512bw -mavx512vl -mprefer-vector-width=512"),
        _cpu("cpu-avx2-1t", ("avx2", "fma"), 256, 16, "-mavx2 -mfma"),
        _cpu("cpu-sse2-1t", ("sse2",), 128, 16, "-msse2"),
        _cpu("cpu-neon-1t", ("asimd",), 128, 32, ""),
        # PoCL runs blocks on CPU cores, one of which is measured. It vectorizes over the threads
        # of a block; its limits are kept below what it reports, at what GPUs have.
        Target(
            name="opencl-pocl", kind="opencl", isa=(), vector_bits=256, vector_registers=16,
            threads=1, l1_bytes=32 << 10, l2_bytes=1 << 20, l3_bytes=16 << 20, flags=(),
            block_threads=1024, shared_bytes=48 << 10,
        ),
    )
}  # fmt: skip


#: Most threads of one target.
MAX_THREADS = 256
_THREADED = re.compile(r"(.+)-([1-9][0-9]{0,2})t")


def target(name: str) -> Target:
    """The target called `name`: one of TARGETS, or one of them with 2 to 256 threads instead of
    one, as in cpu-avx512-8t. Raises TargetError with the list of those that exist."""
    if name in TARGETS:
        return TARGETS[name]
    parts = _THREADED.fullmatch(name)
    alone = TARGETS.get(f"{parts[1]}-1t") if parts else None
    if parts is None or alone is None or int(parts[2]) > MAX_THREADS:
        raise TargetError(
            f"unknown target {name!r}; there are: {', '.join(sorted(TARGETS))}, "
            f"and each with 2 to {MAX_THREADS} threads as in cpu-avx512-8t"
        )
    return with_threads(alone, int(parts[2]))


def with_threads(alone: Target, threads: int) -> Target:
    """The one-thread target `alone` with more threads, all started by OpenMP."""
    name = f"{alone.name.removesuffix('-1t')}-{threads}t"
    return replace(alone, name=name, threads=threads, flags=(*alone.flags, "-fopenmp"))
