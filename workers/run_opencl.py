"""The process that checks and times one OpenCL candidate: runner.c for devices that are launched.

Takes the same arguments as runner.c, `key=value`, and writes the same lines of JSON, so that
whoever reads them need not know which of the two ran. `library` is the plan that build_opencl.py
wrote. `probe` as its only argument prints the device instead. It imports nothing of Tilewright and
is started as a file: a fault of a device's driver ends this process and no other.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

#: Bytes on either side of each buffer that nothing may write.
GUARD = 4096
CANARY = 0xA5
#: What float outputs are filled with before a run, and others on either data set.
POISON_FLOAT, POISON = 0xFF, (0x7F, 0x9D)
MAX_CALLS = 1 << 20
FLOATS = {"f64": np.float64, "f32": np.float32}
PLATFORM = "Portable Computing Language"


def say(**stage: Any) -> None:
    """One line for the reader."""
    sys.stdout.write(json.dumps(stage) + "\n")
    sys.stdout.flush()


def end(outcome: str, detail: str = "") -> NoReturn:
    """The last line; drivers may not come back from unloading."""
    say(stage="end", outcome=outcome, detail=detail[:2000])
    os._exit(0)


@dataclass
class Param:
    """A parameter as the spec has it."""

    kind: str
    name: str
    dtype: str
    bytes: int
    #: in: data of both sets; out: reference and allowed error of both sets
    files: list[str]

    def worst(self, got: np.ndarray, which: int) -> tuple[float, int, str]:
        """Largest |error| / allowed error, its element, and what is wrong there."""
        want, allowed = self.files[2 * which], self.files[2 * which + 1]
        if allowed == "-":
            size = 1 if self.dtype == "bool" else int(self.dtype[1:]) // 8
            a = got.reshape(-1, size)
            b = np.fromfile(want, np.uint8).reshape(-1, size)
            bad = np.flatnonzero((a != b).any(axis=1))
            return (math.inf, int(bad[0]), "differs") if len(bad) else (0.0, 0, "")
        values = got.view(FLOATS[self.dtype]).astype(np.float64)
        right, room = np.fromfile(want), np.fromfile(allowed)
        with np.errstate(all="ignore"):
            error = np.abs(values - right)
            ratio = np.where(room > 0, error / room, np.inf)
        ratio[(values == right) | (np.isnan(values) & np.isnan(right))] = 0
        ratio[np.isnan(ratio)] = np.inf
        at = int(ratio.argmax())
        said = f"is {values[at]:.9g}, expected {right[at]:.9g} within {room[at]:.3g}"
        return float(ratio[at]), at, said


class Device:
    """The candidate's kernels and buffers on the device."""

    def __init__(self, plan: dict[str, Any], params: list[Param]) -> None:
        import pyopencl as cl  # noqa: PLC0415

        self.cl, self.plan, self.params = cl, plan, params
        self.context = cl.Context([find_device(cl)])
        self.queue = cl.CommandQueue(self.context)
        self.program = self._built(plan["text"])
        sizes = {p.name: p.bytes for p in params} | plan["scratch"]
        flags = cl.mem_flags.READ_WRITE
        self.whole = {n: cl.Buffer(self.context, flags, s + 2 * GUARD) for n, s in sizes.items()}
        self.buffers = {n: b.get_sub_region(GUARD, sizes[n], flags) for n, b in self.whole.items()}
        self.launches = [self._launch(k) for k in plan["kernels"]]

    def _built(self, text: str) -> Any:
        try:
            return self.cl.Program(self.context, text).build()
        except self.cl.RuntimeError as error:
            end("compile_error", str(error))

    def _launch(self, kernel: dict[str, Any]) -> tuple[Any, list[int], list[int]]:
        function = getattr(self.program, kernel["name"])
        function.set_args(*(self.buffers[name] for name in kernel["arguments"]))
        sizes = [g * b for g, b in zip(kernel["grid"], kernel["block"], strict=True)]
        return function, sizes, kernel["block"]

    def call(self, times: int = 1) -> None:
        """Launches everything, `times` times, and waits for its end."""
        cl = self.cl
        try:
            for _ in range(times):
                for function, sizes, block in self.launches:
                    cl.enqueue_nd_range_kernel(self.queue, function, sizes, block)
            self.queue.finish()
        except cl.MemoryError as error:
            end("no_memory", str(error))
        except cl.RuntimeError as error:
            refused = "OUT_OF_RESOURCES" in str(error) or "WORK_GROUP" in str(error)
            end("no_memory" if refused else "crash", str(error))

    def fill(self, which: int) -> None:
        """Inputs, poisoned outputs, and what must not be touched beside them."""
        for param in self.params:
            data = np.full(param.bytes, POISON_FLOAT if param.dtype in FLOATS else POISON[which])
            if param.kind in ("in", "const"):
                data = np.fromfile(param.files[which], np.uint8, param.bytes)
            edge = np.full(GUARD, CANARY)
            whole = np.concatenate([edge, data, edge]).astype(np.uint8)
            self.cl.enqueue_copy(self.queue, self.whole[param.name], whole)

    def check(self, which: int) -> float:
        """Largest share of the allowed error over all outputs."""
        worst = 0.0
        for param in self.params:
            whole = np.empty(param.bytes + 2 * GUARD, np.uint8)
            self.cl.enqueue_copy(self.queue, whole, self.whole[param.name])
            if (whole[:GUARD] != CANARY).any() or (whole[-GUARD:] != CANARY).any():
                end("wrong_result", f"data set {which + 1}: wrote outside {param.name}")
            if param.kind != "out":
                continue
            ratio, at, said = param.worst(whole[GUARD:-GUARD], which)
            if ratio > 1:
                end("wrong_result", f"data set {which + 1}: {param.name}[{at}] {said}")
            worst = max(worst, ratio)
        return worst


def find_device(cl: Any) -> Any:
    """PoCL's device. Raises LookupError."""
    for platform in cl.get_platforms():
        if platform.name == PLATFORM:
            for device in platform.get_devices():
                return device
    raise LookupError(f"no device of {PLATFORM}")


def read_spec(path: Path) -> list[Param]:
    """The parameters, in call order; see buffers.h."""
    params = []
    for line in path.read_text().splitlines():
        kind, name, dtype, size, *files = line.split()
        params.append(Param(kind, name, dtype, int(size), files))
    return params


def sample(device: Device, calls: int) -> float:
    """Seconds of `calls` calls together."""
    start = time.perf_counter()
    device.call(calls)
    return time.perf_counter() - start


def calibrate(device: Device, shortest_s: float) -> tuple[int, float]:
    """Warm up, then group calls until one sample takes `shortest_s`; the calls, the last sample."""
    calls = 1
    device.call()
    while (last := sample(device, calls)) < shortest_s and calls < MAX_CALLS:
        grow = min(1.2 * shortest_s / last, 10.0) if last > 0 else 10.0
        calls = min(int(calls * grow) + 1, MAX_CALLS)
    return calls, last


def time_alone(device: Device, given: dict[str, str]) -> None:
    """Samples until there are enough; fewer of what is clearly slow."""
    least, most = int(given["min_samples"]), int(given["max_samples"])
    slow_s = float(given["slow_factor"]) * float(given["incumbent_s"])
    start = time.perf_counter()
    calls, first = calibrate(device, float(given["min_sample_s"]))
    samples = [first]
    while len(samples) < most:
        if len(samples) >= least:
            slow = slow_s > 0 and min(samples) > slow_s * calls
            if slow or sum(samples) >= float(given["min_total_s"]):
                break
        samples.append(sample(device, calls))
    spent = time.perf_counter() - start
    say(stage="timed", calls=calls, s=spent, samples_s=[s / calls for s in samples])


def time_in_rounds(device: Device, given: dict[str, str]) -> None:
    """One sample for each byte of standard input."""
    calls, last = calibrate(device, float(given["min_sample_s"]))
    say(stage="ready", calls=calls, s=last)
    while os.read(0, 1):
        device.call()  # the others' data is in the caches
        say(stage="sample", s=sample(device, calls) / calls)


def measure(given: dict[str, str]) -> None:
    """Check on both data sets, then time."""
    spec = Path(given["spec"])
    plan = json.loads(Path(given["library"]).read_text())
    os.chdir(spec.parent)
    os.sched_setaffinity(0, {int(cpu) for cpu in given["cpus"].split(",")})
    limit = int(given["cpu_s"])
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    device = Device(plan, read_spec(spec))
    say(stage="loaded")
    for which in (0, 1):
        start = time.perf_counter()
        device.fill(which)
        device.call()
        ratio = device.check(which)
        say(stage="checked", set=which + 1, error_ratio=ratio, s=time.perf_counter() - start)
    (time_in_rounds if given["mode"] == "rounds" else time_alone)(device, given)
    end("ok")


def probe() -> None:
    """Prints what PoCL's device is, as JSON."""
    import pyopencl as cl  # noqa: PLC0415

    device = find_device(cl)
    # "OpenCL 3.0 PoCL 3.1+debian  Linux, LLVM 15.0.6, …"
    version = device.platform.version.partition("  ")[0]
    print(json.dumps({"device": device.name, "version": version}))


def main(arguments: list[str]) -> None:
    """See the module's docstring."""
    # One core is measured, so one thread; a compiled kernel is looked up nowhere.
    os.environ |= {"POCL_MAX_PTHREAD_COUNT": "1", "PYOPENCL_NO_CACHE": "1"}
    if arguments == ["probe"]:
        probe()
        return
    given = dict(a.split("=", 1) for a in arguments)
    cache = Path(given["library"]).parent / "pocl"
    os.environ["POCL_CACHE_DIR"] = str(cache)
    cache.mkdir(exist_ok=True)
    measure(given)


if __name__ == "__main__":
    main(sys.argv[1:])
