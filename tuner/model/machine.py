"""Machines as a model sees them: the rates that bound a kernel, and the costs that are fixed.

What code may assume of a machine (vectors, registers, caches) is in its target; what it can do in a
cycle, and how many cycles there are in a second, is here. A generic machine stands for each kind of
real target; the named ones are simulated (`tilewright worker --simulate`).

Clocks, cores, units, caches and bandwidths are those that vendors publish. What they do not publish
is assumed: how much of the memory's bandwidth one core can draw (12 to 30 GB/s), and fixed costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tuner.errors import TargetError
from tuner.record import Peaks
from tuner.space.knobs import Floats
from tuner.target import SIMULATED, SIMULATED_PREFIX, Target, target


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One kind of machine. Rates and costs of a CPU are those of one core; those of a GPU are the
    whole device's."""

    name: str
    #: what it is, and where its limits are published
    doc: str
    clock_hz: float
    #: cores of a CPU; multiprocessors or compute units of a GPU
    cores: int
    #: bytes per cycle into L1 from L2, into L2 from L3, into L3 from memory
    into_l1: float
    into_l2: float
    into_l3: float
    #: bytes per second from memory, all cores together
    memory_bytes_per_s: float = math.inf
    #: lanes of a GPU, which share all work; 1 for CPUs, whose lanes are in vectors
    lanes: int = 1
    #: threads of a GPU that run in lockstep
    warp: int = 1
    #: cycles for one run of straight code: the loop's own instructions and a late branch
    body_cycles: float = 2.0
    #: cycles for an element that is moved on its own in vector code
    scattered_cycles: float = 1.5
    #: cycles for an iteration of a nest without vectors, on top of its instructions
    scalar_cycles: float = 1.0
    #: share of its speed that a nest keeps once its registers are spilled
    spilled: float = 0.35
    #: share that a ragged tail pays of the price of one instruction for each of its elements; 0 for
    #: simulated machines, which know no tails
    ragged: float = 0.0
    #: cycles to begin a team of threads that wait spinning, and to wait for its last one
    team_cycles: float = 3000.0
    #: cycles to launch a kernel on a GPU
    launch_cycles: float = 0.0

    @property
    def target(self) -> Target:
        """The target with one thread."""
        known = SIMULATED.get(f"{SIMULATED_PREFIX}{self.name}-1t")
        return known or target(f"{SIMULATED_PREFIX}{self.name}")

    def busy(self, blocks: Floats, threads: Floats) -> Floats:
        """Share of the lanes that a grid of blocks of so many threads keeps busy, [points]: warps
        that are not full waste theirs, and so does a last round without a block for each core. 1
        for CPUs, which share work out as threads."""
        if self.lanes == 1:
            return np.ones(len(blocks))
        blocks, threads = np.maximum(blocks, 1.0), np.maximum(threads, 1.0)
        in_warps = threads / (np.ceil(threads / self.warp) * self.warp)
        in_rounds = blocks / (np.ceil(blocks / self.cores) * self.cores)
        return np.asarray(in_warps * in_rounds, dtype=np.float64)

    def peaks(self, hardware: Target, io_bytes: int) -> Peaks:
        """The machine's own limits with the threads of `hardware`, copying `io_bytes` bytes:
        from the smallest cache that holds them, else from memory."""
        threads = min(hardware.threads, self.cores)
        flops = 2.0 * hardware.lanes(32) * hardware.vectors_per_cycle * self.lanes * self.clock_hz
        if io_bytes <= hardware.l2_bytes:
            rate = self.into_l1 * self.clock_hz * threads
        elif io_bytes <= hardware.l3_bytes:
            rate = self.into_l2 * self.clock_hz * threads
        else:
            rate = min(self.into_l3 * self.clock_hz * threads, self.memory_bytes_per_s)
        return Peaks(flops_per_s=flops * threads, copy_bytes_per_s=rate)


#: Stand for real CPUs and for OpenCL on them, which are one core of a machine that is not known. It
#: begins about twice as many scalar instructions in a cycle as wide ones (docs/cost-model.md).
GENERIC_CPU = Machine(
    name="generic-cpu", doc="a core of a server CPU as measured on AVX-512 machines",
    clock_hz=3e9, cores=256, into_l1=48.0, into_l2=20.0, into_l3=6.0, ragged=0.5,
)  # fmt: skip

_AMD_GUIDE = "AMD's software optimization guide for the family"
_INTEL_GUIDE = "Intel's optimization reference manual"

MACHINES: dict[str, Machine] = {
    m.name: m
    for m in (
        Machine(
            name="skylake-x",
            doc="Intel Xeon Platinum 8180: 28 cores, all-core AVX-512 turbo 2.3 GHz, two 512-bit "
                f"FMA units, six channels of DDR4-2666; {_INTEL_GUIDE} (64 bytes per cycle from "
                "L2, 16 from L3), product page",
            clock_hz=2.3e9, cores=28, into_l1=64.0, into_l2=16.0, into_l3=5.5,
            memory_bytes_per_s=128e9,
        ),
        Machine(
            name="sapphire-rapids",
            doc="Intel Xeon Platinum 8480+: 56 cores, all-core turbo 3.0 GHz, two 512-bit FMA "
                f"units, eight channels of DDR5-4800; {_INTEL_GUIDE} (64 bytes per cycle from "
                "L2, 16 from L3), product page",
            clock_hz=3.0e9, cores=56, into_l1=64.0, into_l2=16.0, into_l3=4.5,
            memory_bytes_per_s=307.2e9,
        ),
        Machine(
            name="zen4",
            doc="AMD EPYC 9654: 96 cores, all-core boost 3.55 GHz, two 256-bit FMA units that take "
                f"a 512-bit one together, twelve channels of DDR5-4800; {_AMD_GUIDE} 19h (32 bytes "
                "per cycle from L2 and from L3), product page",
            clock_hz=3.55e9, cores=96, into_l1=32.0, into_l2=32.0, into_l3=8.0,
            memory_bytes_per_s=460.8e9,
        ),
        Machine(
            name="zen2",
            doc="AMD EPYC 7742: 64 cores, boost 3.4 GHz, two 256-bit FMA units, eight channels of "
                f"DDR4-3200; {_AMD_GUIDE} 17h models 30h (32 bytes per cycle from L2 and from L3), "
                "product page",
            clock_hz=3.4e9, cores=64, into_l1=32.0, into_l2=32.0, into_l3=6.5,
            memory_bytes_per_s=204.8e9,
        ),
        Machine(
            name="graviton4",
            doc="AWS Graviton4: 96 Neoverse V2 cores at 2.8 GHz, four 128-bit FMA units, twelve "
                "channels of DDR5-5600; Arm's Neoverse V2 software optimization guide, the "
                "instances' data sheet; 64 bytes per cycle from L2 and 32 from L3 are assumed",
            clock_hz=2.8e9, cores=96, into_l1=64.0, into_l2=32.0, into_l3=9.0,
            memory_bytes_per_s=537.6e9,
        ),
        Machine(
            name="a100",
            doc="NVIDIA A100 80 GB (SXM): 108 multiprocessors of 64 FP32 lanes at 1.41 GHz, 5120 "
                "bytes per cycle from L2, HBM2e at 2039 GB/s; NVIDIA's A100 architecture white "
                "paper and data sheet",
            clock_hz=1.41e9, cores=108, lanes=108 * 64, warp=32, into_l1=5120.0,
            into_l2=2039 / 1.41, into_l3=math.inf, memory_bytes_per_s=2039e9,
            body_cycles=3.0, launch_cycles=5000.0,
        ),
        Machine(
            name="h100",
            doc="NVIDIA H100 (SXM): 132 multiprocessors of 128 FP32 lanes at 1.98 GHz, HBM3 at "
                "3350 GB/s; NVIDIA's H100 architecture white paper and data sheet; from L2 as "
                "many bytes per cycle as the A100, which is assumed",
            clock_hz=1.98e9, cores=132, lanes=132 * 128, warp=32, into_l1=5120.0,
            into_l2=3350 / 1.98, into_l3=math.inf, memory_bytes_per_s=3350e9,
            body_cycles=3.0, launch_cycles=6000.0,
        ),
        Machine(
            name="mi250x",
            doc="AMD Instinct MI250X, one of its two dies: 110 compute units of 64 FP32 lanes at "
                "1.7 GHz, 128 bytes per cycle and channel of 32 from L2, HBM2e at 1638 GB/s; AMD's "
                "CDNA 2 white paper and data sheet",
            clock_hz=1.7e9, cores=110, lanes=110 * 64, warp=64, into_l1=4096.0,
            into_l2=1638 / 1.7, into_l3=math.inf, memory_bytes_per_s=1638e9,
            body_cycles=3.0, launch_cycles=8000.0,
        ),
    )
}  # fmt: skip


def machine(name: str) -> Machine:
    """The machine called `name`. Raises TargetError with the list of those that exist."""
    if name not in MACHINES:
        raise TargetError(f"unknown machine {name!r}; there are: {', '.join(sorted(MACHINES))}")
    return MACHINES[name]


def machine_of(hardware: Target) -> Machine:
    """The machine that a target runs on: its model if it is simulated, else a generic one."""
    if not hardware.simulated:
        return GENERIC_CPU
    return MACHINES[hardware.family.removeprefix(SIMULATED_PREFIX)]
