"""What builds a worker's candidates: a part of the setup within which their times compare."""

from __future__ import annotations

from db.schema import WorkerRow
from tuner.target import target


def compiler_of(worker: WorkerRow, target_name: str) -> str:
    """As measurements name it: C is built by the worker's compiler, OpenCL by its driver."""
    if target(target_name).kind == "opencl":
        return str(worker.facts.get("opencl", {}).get("version", ""))
    return worker.compiler
