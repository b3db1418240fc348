"""Runs a pair whose loops are bound as OpenCL, on PoCL."""

from __future__ import annotations

from tests.codegen.device import run_on_device
from tests.differential.pairs import Arrays, Pair
from tuner.codegen.opencl import translate
from tuner.codegen.source import Source
from tuner.ir.visit import loops, outputs
from tuner.lower.pipeline import lower
from tuner.target import target

POCL = target("opencl-pocl")


def is_bound(pair: Pair) -> bool:
    """Whether some loop of the scheduled program is for blocks or threads."""
    return any(loop.kind.is_bound for loop in loops(pair.scheduled.body))


def kernels(pair: Pair) -> Source:
    """The scheduled program as OpenCL. Raises CodegenError, or ScheduleError, where that has no
    words for it."""
    name = f"tw_pair{pair.seed}"
    found = translate(lower(pair.scheduled, POCL), name)
    return Source(
        name=name, text=found.text, params=pair.program.params, outputs=outputs(pair.program),
        workspace_bytes=0, threads=1, flags=(), libs=(), language="opencl",
        kernels=found.kernels, scratch=found.scratch,
    )  # fmt: skip


def launched(pair: Pair, source: Source) -> Arrays:
    """The outputs."""
    return run_on_device(source, pair.inputs)
