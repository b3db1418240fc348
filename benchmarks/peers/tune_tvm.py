"""TVM's MetaSchedule on one workload; run by an interpreter that has TVM.

    python -m benchmarks.peers.tune_tvm WORKLOAD --cpus 1,0 --trials 256 --folder FOLDER

Uses as many threads as cores are named. Stores the library it found and its tuning curve: a JSON
line for each batch of trials that was measured, with seconds since the start of the tuning.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tvm
from tvm import te, topi
from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule

from benchmarks.peers import found
from benchmarks.peers.catalogue import WORKLOADS, PeerWorkload

SEED = 0


def program(work: PeerWorkload) -> Any:
    """The workload in TVM's tensor expressions."""
    inputs = [te.placeholder(shape, name=f"x{i}") for i, shape in enumerate(work.inputs)]
    return te.create_prim_func([*inputs, _EXPRESSIONS[work.op](work, *inputs)])


def _matmul(work: PeerWorkload, a: Any, b: Any) -> Any:
    k = te.reduce_axis((0, work.inputs[0][1]), name="k")
    return te.compute(work.output, lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")


def _scores(work: PeerWorkload, q: Any, k: Any) -> Any:
    c = te.reduce_axis((0, work.inputs[0][2]), name="c")
    return te.compute(
        work.output, lambda g, i, j: te.sum(q[g, i, c] * k[g, j, c], axis=c), name="s"
    )


def _dense_relu(work: PeerWorkload, x: Any, w: Any, b: Any) -> Any:
    h = _matmul(work, x, w)
    return te.compute(
        work.output, lambda i, j: te.max(h[i, j] + b[j], tvm.tirx.const(0.0, "float32")), name="y"
    )


_EXPRESSIONS: dict[str, Callable[..., Any]] = {
    "matmul": _matmul,
    "batch_matmul_transposed": _scores,
    "conv2d": lambda work, x, w: topi.nn.conv2d_nchw(x, w, work.stride, work.pad, 1),
    "depthwise_conv2d": lambda work, x, w: topi.nn.depthwise_conv2d_nchw(
        x, topi.expand_dims(w, 1), work.stride, work.pad, 1
    ),
    "softmax": lambda work, x: topi.nn.softmax(x, axis=1),
    "layer_norm": lambda work, x, w, b: topi.nn.layer_norm(x, w, b, [1], 1e-5),
    "dense_relu": _dense_relu,
    "transpose": lambda work, x: topi.transpose(x),
    "row_sum": lambda work, x: topi.sum(x, axis=1),
    "gelu": lambda work, x: te.compute(
        work.output, lambda i: 0.5 * x[i] * (1.0 + te.erf(x[i] * 0.7071067811865476)), name="y"
    ),
}


class Curve:
    """Takes down what each batch of trials gave."""

    def __init__(self, path: Path) -> None:
        self._path, self._start = path, time.perf_counter()
        self.trials = self.failed = 0
        self.best_s: float | None = None

    def apply(self, scheduler: Any, task: int, candidates: Any, builds: Any, runs: Any) -> None:
        """A measure callback of TVM's."""
        for run in runs:
            self.trials += 1
            if run.error_msg is not None or not run.run_secs:
                self.failed += 1
                continue
            spent = statistics.median(float(s) for s in run.run_secs)
            self.best_s = min(spent, self.best_s or spent)
        line = {"wall_s": self.elapsed_s, "trials": self.trials, "best_s": self.best_s}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    @property
    def elapsed_s(self) -> float:
        return time.perf_counter() - self._start


def tune(work: PeerWorkload, threads: int, trials: int, made: Path) -> dict[str, Any]:
    """Tune, build the best schedule into `made`; what is worth knowing about it."""
    cpu = tvm.target.codegen.llvm_get_system_cpu()
    target = tvm.target.Target({"kind": "llvm", "mcpu": str(cpu), "num-cores": threads})
    curve = Curve(made / found.CURVE)
    callback = derived_object(
        type("_Curve", (meta_schedule.measure_callback.PyMeasureCallback,), {"apply": curve.apply})
    )()
    function = program(work)
    with tempfile.TemporaryDirectory() as scratch:
        database = meta_schedule.tune_tir(
            function, target, scratch, max_trials_global=trials, num_tuning_cores=threads,
            measure_callbacks=[*meta_schedule.MeasureCallback.create("default"), callback],
            seed=SEED,
        )  # fmt: skip
        spent = curve.elapsed_s
        schedule = meta_schedule.tir_integration.compile_tir(database, function, target)
        tvm.compile(schedule.mod, target).export_library(str(made / found.LIBRARY))
    return {
        "tuning_s": spent, "trials": curve.trials, "failed": curve.failed,
        "best_s": curve.best_s, "version": f"tvm {tvm.__version__}", "target": str(cpu),
    }  # fmt: skip


def main() -> None:
    """Tune and store."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("workload", choices=WORKLOADS)
    arguments.add_argument("--cpus", required=True, help="cores, like 1,0: a thread on each")
    arguments.add_argument("--trials", type=int, required=True)
    arguments.add_argument("--folder", type=Path, required=True)
    given = arguments.parse_args()
    cpus = [int(cpu) for cpu in given.cpus.split(",")]
    os.sched_setaffinity(0, cpus)
    work = WORKLOADS[given.workload]
    with found.storing(given.folder, "tvm", work.name, len(cpus)) as made:
        found.write_about(made, tune(work, len(cpus), given.trials, made))


if __name__ == "__main__":
    main()
