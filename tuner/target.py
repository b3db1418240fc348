"""Targets: one kind of hardware with a thread count. Frozen; a fingerprint names a machine."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tuner.errors import TargetError

#: What the names of simulated targets begin with, and of no others.
SIMULATED_PREFIX = "sim-"
_THREADED = re.compile(r"(.+)-([1-9][0-9]{0,2})t")


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
    #: vector instructions of arithmetic that a core begins in one cycle
    vectors_per_cycle: int = 1

    @property
    def simulated(self) -> bool:
        """Whether its times come from a machine model and not from a machine."""
        return self.name.startswith(SIMULATED_PREFIX)

    @property
    def family(self) -> str:
        """What targets that differ only in their number of threads share: the name without it."""
        threaded = _THREADED.fullmatch(self.name)
        return threaded[1] if threaded else self.name

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
        vectors_per_cycle=1 if bits == 512 else 2,
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
            block_threads=1024, shared_bytes=48 << 10, vectors_per_cycle=2,
        ),
    )
}  # fmt: skip


def _like(
    name: str, base: str, vectors_per_cycle: int, l1_kib: int, l2_kib: int, l3_kib: int
) -> Target:
    """A simulated CPU with the instructions of the target `base`: its code is that of `base`."""
    return replace(
        TARGETS[base], name=f"{SIMULATED_PREFIX}{name}-1t", vectors_per_cycle=vectors_per_cycle,
        l1_bytes=l1_kib << 10, l2_bytes=l2_kib << 10, l3_bytes=l3_kib << 10,
    )  # fmt: skip


def _gpu(name: str, shared_kib: int, l1_kib: int, l2_kib: int) -> Target:
    """A simulated GPU. A thread has 255 registers of 32 bits. The L2 cache is the last."""
    return Target(
        name=f"{SIMULATED_PREFIX}{name}", kind="opencl", isa=(), vector_bits=32,
        vector_registers=255, threads=1, l1_bytes=l1_kib << 10, l2_bytes=l2_kib << 10,
        l3_bytes=l2_kib << 10, flags=(), block_threads=1024, shared_bytes=shared_kib << 10,
    )  # fmt: skip


#: Targets of the machine models (tuner.model.machine says where the numbers are from). They are
#: never offered by a worker that measures.
SIMULATED: dict[str, Target] = {
    t.name: t
    for t in (
        _like("skylake-x", "cpu-avx512-1t", 2, 32, 1024, 39424),
        _like("sapphire-rapids", "cpu-avx512-1t", 2, 48, 2048, 107520),
        _like("zen4", "cpu-avx512-1t", 1, 32, 1024, 32768),
        _like("zen2", "cpu-avx2-1t", 2, 32, 512, 16384),
        _like("graviton4", "cpu-neon-1t", 4, 64, 2048, 36864),
        _gpu("a100", 48, 192, 40960),
        _gpu("h100", 48, 256, 51200),
        _gpu("mi250x", 64, 16, 8192),
    )
}

#: Most threads of one target.
MAX_THREADS = 256


def target(name: str) -> Target:
    """The target called `name`: one of TARGETS or SIMULATED, or one of them with 2 to 256 threads
    instead of one, as in cpu-avx512-8t. Raises TargetError with the list of those that exist."""
    known = TARGETS | SIMULATED
    if name in known:
        return known[name]
    parts = _THREADED.fullmatch(name)
    alone = known.get(f"{parts[1]}-1t") if parts else None
    if parts is None or alone is None or int(parts[2]) > MAX_THREADS:
        raise TargetError(
            f"unknown target {name!r}; there are: {', '.join(sorted(TARGETS))}; "
            f"simulated: {', '.join(sorted(SIMULATED))}; "
            f"each -1t also with 2 to {MAX_THREADS} threads as in cpu-avx512-8t"
        )
    return with_threads(alone, int(parts[2]))


def with_threads(alone: Target, threads: int) -> Target:
    """The one-thread target `alone` with more threads, all started by OpenMP."""
    name = f"{alone.name.removesuffix('-1t')}-{threads}t"
    return replace(alone, name=name, threads=threads, flags=(*alone.flags, "-fopenmp"))
