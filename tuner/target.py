"""Targets: one kind of hardware with a thread count. Frozen; a fingerprint names a machine."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.errors import TargetError


@dataclass(frozen=True, slots=True)
class Target:
    """What a space and a code generator may assume of the hardware."""

    name: str
    #: "cpu"; GPU kinds come with their runners
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
    )
}  # fmt: skip


def target(name: str) -> Target:
    """The target called `name`. Raises TargetError with the list of those that exist."""
    if name not in TARGETS:
        raise TargetError(f"unknown target {name!r}; there are: {', '.join(sorted(TARGETS))}")
    return TARGETS[name]
