"""A machine's own limits, measured beside the candidates."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tuner.record import Peaks
from tuner.target import Target
from workers.errors import Stopped, WorkerError
from workers.measure import Bench, cpu_list
from workers.sandbox import never, run_bounded
from workers.toolchain import Compiler, own_program

LIMIT_S = 30.0
#: Copying beyond this many bytes is copying in memory, whatever the size.
MAX_BYTES = 256 << 20


def measure_peaks(
    target: Target,
    io_bytes: int,
    compiler: Compiler,
    cache: Path,
    bench: Bench,
    stop: Callable[[], bool] = never,
) -> Peaks:
    """Multiply-add peak with the target's vectors and threads, and copy bandwidth (bytes read +
    written) at `io_bytes`, a workload's inputs and outputs together. Raises WorkerError, Stopped.
    """
    flags = (*target.flags, f"-DLANES={target.lanes(32)}", "-pthread")
    program = own_program(compiler, ("peaks.c",), flags, cache)
    argv = [str(program), str(min(io_bytes, MAX_BYTES)), cpu_list(bench, target.threads)]
    with bench.lock.held(stop):
        ended = run_bounded(argv, LIMIT_S, stop)
    if ended.stopped:
        raise Stopped("the peaks' run was stopped")
    if ended.status:
        raise WorkerError(f"the peaks' run ended with status {ended.status}: {ended.err[:500]}")
    return Peaks(**json.loads(ended.out))
