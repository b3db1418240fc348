"""Numbers as people read them: times, rates, shares, workloads."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.client import Json

_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def seconds(value: float) -> str:
    """Four digits and a unit: `3.912 ms`."""
    scale, unit = next((pair for pair in _TIME_UNITS if value >= pair[0]), _TIME_UNITS[-1])
    return f"{value / scale:.4g} {unit}"


def interval(bounds: Sequence[float] | None) -> str:
    """A 95% interval in the unit of its lower bound; empty where there is none."""
    if bounds is None:
        return ""
    return f"{seconds(bounds[0])} … {seconds(bounds[1])}"


def clock(value_s: float) -> str:
    """Minutes and seconds: `1:05`."""
    minutes, rest = divmod(max(0, round(value_s)), 60)
    return f"{minutes}:{rest:02}"


def rate(best: Json) -> str:
    """The rate that says more: GFLOP/s, or GB/s where less than one operation is done per byte."""
    if best["gflops"] >= best["gbytes_per_s"]:
        return f"{best['gflops']:.1f} GFLOP/s"
    return f"{best['gbytes_per_s']:.1f} GB/s"


def share(value: float | None) -> str:
    """A share of the machine's peak, as percent."""
    return "" if value is None else f"{value:.0%}"


def failures(counts: dict[str, int]) -> str:
    """`2 compile_error, 1 timeout`; empty where nothing failed."""
    return ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))


def label(workload: Json) -> str:
    """A workload as its user knows it: `matmul m=512 n=512 k=512`, or its program's name."""
    if not workload.get("op"):
        return str(workload["name"])
    return " ".join([workload["op"], *(f"{k}={v}" for k, v in workload["sizes"].items())])
