"""Halide, scheduled by its Adams2019 autoscheduler with the weights that it brings.

Halide's axes are numpy's in reverse: the innermost comes first.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import halide as hl

from benchmarks.numpys import Array, aligned
from benchmarks.peers.catalogue import PeerWorkload
from benchmarks.peers.engine import Engine, Ready, Unsupported

_j, _i, _n, _g = (hl.Var(name) for name in ("j", "i", "n", "g"))


def _sum(name: str, args: list[Any], term: Any) -> Any:
    """A function of `args` that sums `term` over the reduction domain in it."""
    total = hl.Func(name)
    total[args] = 0.0
    total[args] += term
    return total


def _matmul(work: PeerWorkload, a: Any, b: Any) -> Any:
    k = hl.RDom([(0, work.inputs[0][1])])
    return _sum("c", [_j, _i], a[k.x, _i] * b[_j, k.x])


def _scores(work: PeerWorkload, q: Any, k: Any) -> Any:
    c = hl.RDom([(0, work.inputs[0][2])])
    return _sum("s", [_j, _i, _n], q[c.x, _i, _n] * k[c.x, _j, _n])


def _padded(work: PeerWorkload, x: Any) -> Any:
    _, _, height, width = work.inputs[0]
    unbounded = hl.Func("x")
    inside = (_j >= 0) & (_j < width) & (_i >= 0) & (_i < height)
    near = x[hl.clamp(_j, 0, width - 1), hl.clamp(_i, 0, height - 1), _n, _g]
    unbounded[_j, _i, _n, _g] = hl.select(inside, near, 0.0)
    return unbounded


def _conv2d(work: PeerWorkload, x: Any, w: Any) -> Any:
    _, channels, height, width = work.inputs[1]
    r, s, p = hl.RDom([(0, width), (0, height), (0, channels)]), work.stride, work.pad
    seen = _padded(work, x)[_j * s + r.x - p, _i * s + r.y - p, r.z, _g]
    return _sum("y", [_j, _i, _n, _g], seen * w[r.x, r.y, r.z, _n])


def _depthwise(work: PeerWorkload, x: Any, w: Any) -> Any:
    _, height, width = work.inputs[1]
    r, s, p = hl.RDom([(0, width), (0, height)]), work.stride, work.pad
    seen = _padded(work, x)[_j * s + r.x - p, _i * s + r.y - p, _n, _g]
    return _sum("y", [_j, _i, _n, _g], seen * w[r.x, r.y, _n])


def _softmax(work: PeerWorkload, x: Any) -> Any:
    k = hl.RDom([(0, work.inputs[0][1])])
    top, e, y = hl.Func("top"), hl.Func("e"), hl.Func("y")
    top[_i] = hl.maximum(x[k.x, _i])
    e[_j, _i] = hl.exp(x[_j, _i] - top[_i])
    y[_j, _i] = e[_j, _i] / _sum("total", [_i], e[k.x, _i])[_i]
    return y


def _layer_norm(work: PeerWorkload, x: Any, w: Any, b: Any) -> Any:
    cols = work.inputs[0][1]
    k = hl.RDom([(0, cols)])
    mean, y = hl.Func("mean"), hl.Func("y")
    mean[_i] = _sum("total", [_i], x[k.x, _i])[_i] / float(cols)
    away = x[k.x, _i] - mean[_i]
    variance = _sum("square", [_i], away * away)[_i] / float(cols)
    y[_j, _i] = (x[_j, _i] - mean[_i]) / hl.sqrt(variance + 1e-5) * w[_j] + b[_j]
    return y


def _dense_relu(work: PeerWorkload, x: Any, w: Any, b: Any) -> Any:
    y = hl.Func("y")
    y[_j, _i] = hl.max(_matmul(work, x, w)[_j, _i] + b[_j], 0.0)
    return y


def _transpose(work: PeerWorkload, x: Any) -> Any:
    y = hl.Func("y")
    y[_j, _i] = x[_i, _j]
    return y


def _row_sum(work: PeerWorkload, x: Any) -> Any:
    k = hl.RDom([(0, work.inputs[0][1])])
    return _sum("y", [_j], x[k.x, _j])


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "matmul": _matmul, "batch_matmul_transposed": _scores, "conv2d": _conv2d,
    "depthwise_conv2d": _depthwise, "softmax": _softmax, "layer_norm": _layer_norm,
    "dense_relu": _dense_relu, "transpose": _transpose, "row_sum": _row_sum,
}  # fmt: skip


def start(threads: int, folder: Path) -> Engine:
    """An engine that schedules and compiles each workload anew. Raises Unsupported."""
    found = next(Path(hl.__file__).parent.glob("lib*/libautoschedule_adams2019.*"), None)
    if found is None:
        raise Unsupported("this build of Halide has no libautoschedule_adams2019")
    hl.load_plugin(str(found))
    target = hl.get_host_target()

    def prepare(work: PeerWorkload, inputs: list[Array]) -> Ready:
        if work.op not in _FUNCTIONS:
            raise Unsupported(f"Halide has no {work.op}")
        images = [hl.ImageParam(hl.Float(32), len(shape)) for shape in work.inputs]
        for image, shape in zip(images, work.inputs, strict=True):
            image.set_estimates([(0, size) for size in reversed(shape)])
        function = _FUNCTIONS[work.op](work, *images)
        function.set_estimates([(0, size) for size in reversed(work.output)])
        pipeline = hl.Pipeline(function)
        wanted = hl.AutoschedulerParams("Adams2019", {"parallelism": str(threads)})
        try:
            pipeline.apply_autoscheduler(target, wanted)
            pipeline.compile_jit(target)
        except hl.HalideError as error:
            raise Unsupported(str(error).partition("\n")[0]) from error
        for image, array in zip(images, inputs, strict=True):
            image.set(hl.Buffer(array))
        output = aligned(work.output)
        buffer = hl.Buffer(output)

        def run(_alive: object = (inputs, output)) -> None:  # buffers do not keep arrays alive
            pipeline.realize(buffer)

        return Ready(run, lambda: output)

    return Engine(f"halide {importlib.metadata.version('halide')}", prepare)
