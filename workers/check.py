"""What a right answer is: two seeded data sets, and what a kernel may answer to them.

Data set 1 holds small integers. Where the program only adds, multiplies, compares and selects, and
all magnitudes stay exact in its types, the answer must be equal. Data set 2 holds normals. There,
and where set 1 is not exact, |error| <= 8 (sqrt(L) + 8) (u magnitude + eta): u is the unit roundoff
of the narrowest type computed in, L the longest reduction, eta the smallest subnormal; an output of
a narrower type still may be two of its own roundoffs off, since it is rounded once. The wide
reference, the unscheduled program in f64, carries value and magnitude.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tuner.codegen.source import Source
from tuner.dtypes import BF16, DType
from tuner.ir.analysis import is_exact, longest_reduction
from tuner.ir.nodes import Buffer, Call, Cast, Program
from tuner.ir.visit import loads, outputs, stores, walk_exprs
from workers.build import Built
from workers.errors import NoReference
from workers.sandbox import run_bounded

SETS = (1, 2)
SEED = 2024
#: Wall-clock seconds for the reference of both data sets.
REFERENCE_LIMIT_S = 120.0
#: Of the tolerance above.
SLACK, EXTRA_STEPS = 8.0, 8.0


@dataclass(frozen=True, slots=True)
class CheckSet:
    """The data sets and references of one workload, as files."""

    #: absolute path of the runner's spec; the other files lie beside it
    spec: str
    #: inputs and outputs of the workload, each once
    io_bytes: int


def prepare(program: Program, wide: Source, built: Built, runner: Path, folder: Path) -> CheckSet:
    """Write data sets and reference of `program` into the empty `folder`.

    `wide` is its reference (tuner.codegen.kernel.generate_wide) and `built` that, compiled.
    Raises NoReference where the reference cannot be had.
    """
    if built.error:
        raise NoReference(f"the wide reference does not compile: {built.error}")
    inputs = [b for b in wide.params if b.name not in wide.outputs]
    for position, buffer in enumerate(inputs):
        for which in SETS:
            data = data_set(buffer, which, position)
            (folder / f"{buffer.name}.{which}").write_bytes(data.tobytes())
    _run_reference(wide, built, runner, folder)
    by_name = {b.name: b for b in program.params}
    lines = [_line("const" if by_name[b.name].const else "in", b, "", "") for b in inputs]
    for name in (b.name for b in program.params if b.name in wide.outputs):
        lines.append(_reference(program, by_name[name], folder))
    ordered = sorted(lines, key=lambda line: list(by_name).index(line.split()[1]))
    spec = folder / "check.spec"
    spec.write_text("\n".join(ordered) + "\n")
    return CheckSet(str(spec.absolute()), sum(b.bytes for b in program.params))


def data_set(buffer: Buffer, which: int, position: int) -> np.ndarray:
    """The values of an input, flat: small integers without zero (a lost term must show), or
    normals. Integer types get a wider range in set 2; bf16 comes as its bits."""
    rng = np.random.default_rng([SEED, which, position])
    dtype = buffer.dtype
    if dtype.kind == "bool":
        return rng.integers(0, 2, buffer.size).astype(np.bool_)
    if not dtype.is_float and which == 2:
        wide = np.iinfo(dtype.numpy)
        return rng.integers(
            max(int(wide.min), -128), min(int(wide.max), 1023), buffer.size, endpoint=True
        ).astype(dtype.numpy)
    if which == 2:
        values = rng.standard_normal(buffer.size, dtype=np.float32)
    else:
        values = rng.integers(1, 4, buffer.size, endpoint=True).astype(np.float32)
        if dtype.kind != "uint":
            values *= rng.choice(np.array([-1, 1], np.float32), buffer.size)
    if dtype == BF16:
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(dtype.numpy)


def narrowest_roundoff(program: Program) -> float:
    """Unit roundoff of the narrowest float type that the program computes or keeps results in; the
    only rounding to the type of an output that is not read again is that of its store."""
    read = {load.buffer for load in loads(program.body)}
    accumulated = {store.buffer for store in stores(program.body) if store.reduce}
    kept = read & set(outputs(program)) | accumulated | {b.name for b in program.locals}
    by_name = {b.name: b.dtype for b in program.buffers()}
    found: set[DType] = {by_name[name] for name in kept}
    for store in stores(program.body):
        outer, dtype = store.value, by_name[store.buffer]
        whole = outer.arg if isinstance(outer, Cast) and outer.dtype == dtype else outer
        found.update(e.dtype for e in walk_exprs(whole) if isinstance(e, Call | Cast))
    return max((d.unit_roundoff for d in found), default=0.0)


def tolerance(program: Program, dtype: DType, magnitude: np.ndarray, integers: bool) -> np.ndarray:
    """Allowed |error| of each element, f64; all zero where the answer must be equal."""
    u = narrowest_roundoff(program)
    last = dtype.unit_roundoff
    if integers and is_exact(program):
        whole = np.array_equal(magnitude, np.rint(magnitude))
        if whole and magnitude.max(initial=0.0) * max(u, last) <= 1:
            return np.zeros_like(magnitude)
    eta = 2 * last * dtype.smallest_normal
    steps = math.sqrt(longest_reduction(program)) + EXTRA_STEPS
    return SLACK * steps * (u * magnitude + eta) + (2 * last * magnitude if last > u else 0)


def _line(kind: str, buffer: Buffer, first: str, second: str) -> str:
    size = f"{kind} {buffer.name} {buffer.dtype.name} {buffer.bytes}"
    if kind != "out":
        return f"{size} {buffer.name}.1 {buffer.name}.2"
    return f"{size} {buffer.name}.1 {first} {buffer.name}.2 {second}"


def _run_reference(wide: Source, built: Built, runner: Path, folder: Path) -> None:
    spec = folder / "reference.spec"
    kinds = ["save" if b.name in wide.outputs else "in" for b in wide.params]
    spec.write_text(
        "".join(_line(k, b, "", "") + "\n" for k, b in zip(kinds, wide.params, strict=True))
    )
    ended = run_bounded(
        [
            str(runner), f"spec={spec.absolute()}", f"library={built.library}",
            f"kernel={built.name}", f"workspace={built.workspace_bytes}",
            f"parent={os.getpid()}", f"cpu_s={REFERENCE_LIMIT_S:.0f}", "mode=reference",
        ],
        REFERENCE_LIMIT_S,
    )  # fmt: skip
    if '"outcome": "ok"' not in ended.out:
        raise NoReference(f"the wide reference failed, status {ended.status}: {ended.out[-500:]}")


def _reference(program: Program, output: Buffer, folder: Path) -> str:
    """Turn the magnitudes of an output into its tolerances; its line in the spec."""
    if not output.dtype.is_float:
        return _line("out", output, "-", "-")
    for which in SETS:
        path = folder / f"{output.name}_mag.{which}"
        allowed = tolerance(program, output.dtype, np.fromfile(path), integers=which == 1)
        path.write_bytes(allowed.tobytes())
    return _line("out", output, f"{output.name}_mag.1", f"{output.name}_mag.2")
