"""Runs the kernels of an OpenCL source on PoCL, with numpy arrays."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tests.conftest import require_opencl
from tuner.codegen.source import Source
from tuner.ir.numerics import poison


def run_on_device(source: Source, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of `source`, by name."""
    require_opencl()
    import pyopencl as cl  # noqa: PLC0415

    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    program = cl.Program(context, source.text).build()
    arrays = {
        b.name: np.ascontiguousarray(inputs[b.name])
        if b.name in inputs
        else poison(b.shape, b.dtype)
        for b in (*source.params, *source.scratch)
    }
    buffers = {
        name: cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=a)
        for name, a in arrays.items()
    }
    for kernel in source.kernels:
        function = getattr(program, kernel.name)
        function.set_args(*(buffers[name] for name in kernel.arguments))
        sizes = [g * b for g, b in zip(kernel.grid, kernel.block, strict=True)]
        cl.enqueue_nd_range_kernel(queue, function, sizes, list(kernel.block))
    for name in source.outputs:
        cl.enqueue_copy(queue, arrays[name], buffers[name])
    queue.finish()
    return {name: arrays[name] for name in source.outputs}
