"""Times served kernels beside numpy and the machine's limits, interleaved, on one core.

Run by benchmarks.run as a process of its own, so that numpy starts with one thread:

    python -m benchmarks.compare FOLDER TARGET

FOLDER holds NAME.c for each workload of benchmarks.workloads. Prints a JSON line for each.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.numpys import aligned
from benchmarks.workloads import WORKLOADS, BenchWorkload
from tilewright import load
from tuner.target import target
from workers.fingerprint import measuring_cpu
from workers.hostlock import HostLock
from workers.measure import Bench
from workers.peaks import measure_peaks
from workers.toolchain import cache_dir, find_compiler

ROUNDS = 25
#: seconds that one sample takes at least
SAMPLE_S = 0.002


def interleaved(calls: Sequence[Callable[[], Any]]) -> list[list[float]]:
    """Seconds per call, ROUNDS samples of each, taken in turn after a warm-up."""
    repeats = []
    for call in calls:
        call()
        start = time.perf_counter()
        call()
        repeats.append(max(1, round(SAMPLE_S / (time.perf_counter() - start))))
    samples: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, repeat, found in zip(calls, repeats, samples, strict=True):
            start = time.perf_counter()
            for _ in range(repeat):
                call()
            found.append((time.perf_counter() - start) / repeat)
    return samples


def compare(work: BenchWorkload, folder: Path) -> dict[str, Any]:
    """Medians of the served kernel and of numpy, and the largest difference of their results."""
    rng = np.random.default_rng(0)
    inputs = [aligned(shape) for shape in work.inputs]
    for array in inputs:
        array[...] = rng.standard_normal(array.shape, dtype=np.float32)
    output = aligned(work.output)
    kernel = load((folder / f"{work.name}.c").read_text("utf-8"))
    ours, numpys = interleaved(
        (kernel.bind(*inputs, out=output), lambda: work.numpy(*inputs)),
    )
    difference = float(np.abs(output - work.numpy(*inputs)).max())
    return {
        "workload": work.name, "median_s": statistics.median(ours), "min_s": min(ours),
        "numpy_median_s": statistics.median(numpys), "largest_difference": difference,
    }  # fmt: skip


def main(folder: Path, target_name: str) -> None:
    """One line per workload, each with the limits measured beside it."""
    cpu, compiler, cache = measuring_cpu(), find_compiler(), cache_dir()
    bench = Bench(cache, (cpu,), HostLock(cache), "")
    os.sched_setaffinity(0, {cpu})
    for work in WORKLOADS:
        elements = sum(int(np.prod(shape)) for shape in (*work.inputs, work.output))
        before = measure_peaks(target(target_name), elements * 4, compiler, cache, bench)
        row = compare(work, folder)
        after = measure_peaks(target(target_name), elements * 4, compiler, cache, bench)
        row["flops_per_s"] = max(before.flops_per_s, after.flops_per_s)
        row["copy_bytes_per_s"] = max(before.copy_bytes_per_s, after.copy_bytes_per_s)
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
