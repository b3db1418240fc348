"""Numbers as people read them: times, rates, shares, workloads."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.client import Json
from tuner.workload.catalogue import OPERATORS

_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def seconds(value: float) -> str:
    """Four digits and a unit: `3.912 ms`."""
    scale, unit = _time_unit(value)
    return f"{value / scale:.4g} {unit}"


def interval(bounds: Sequence[float]) -> str:
    """Two times in the unit of the first: `3.88 … 3.95 ms`."""
    scale, unit = _time_unit(bounds[0])
    return f"{bounds[0] / scale:.4g} … {bounds[1] / scale:.4g} {unit}"


def _time_unit(value: float) -> tuple[float, str]:
    return next((pair for pair in _TIME_UNITS if value >= pair[0]), _TIME_UNITS[-1])


def clock(value_s: float) -> str:
    """Minutes and seconds: `1:05`."""
    minutes, rest = divmod(max(0, round(value_s)), 60)
    return f"{minutes}:{rest:02}"


def rate(best: Json) -> str:
    """The rate that says more: GFLOP/s, or GB/s where less than one operation is done per byte."""
    if best["gflops"] >= best["gbytes_per_s"]:
        return f"{best['gflops']:.1f} GFLOP/s"
    return f"{best['gbytes_per_s']:.1f} GB/s"


def failures(counts: dict[str, int]) -> str:
    """`2 compile_error, 1 timeout`; empty where nothing failed."""
    return ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))


def label(workload: Json) -> str:
    """A workload as its user knows it: `matmul m=512 n=512 k=512`, or its program's name.

    Sizes that the operator has by itself are left out.
    """
    operator = OPERATORS.get(workload["op"] or "")
    if operator is None:
        return str(workload["name"])
    sizes = workload["sizes"].items()
    given = (f"{name}={size}" for name, size in sizes if operator.sizes.get(name) != size)
    return " ".join((workload["op"], *given))
