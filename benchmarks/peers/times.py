"""What was measured and what it means: medians with intervals, shares, ratios and ties."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.peers.catalogue import PeerWorkload
from tuner.record import Peaks
from tuner.tune.playoff import interval

#: the peer that the others are compared with
OURS = "tilewright"


@dataclass(frozen=True, slots=True)
class Times:
    """One peer on one workload, seconds for a call."""

    median_s: float
    #: 95% interval of the median from order statistics
    ci_s: tuple[float, float]
    min_s: float
    samples: int

    @classmethod
    def of(cls, samples_s: Sequence[float]) -> Times:
        """Raises ValueError for too few samples to have an interval."""
        ci_s = interval(samples_s)
        if ci_s is None:
            raise ValueError(f"{len(samples_s)} samples are too few for an interval")
        return cls(statistics.median(samples_s), ci_s, min(samples_s), len(samples_s))


@dataclass(frozen=True, slots=True)
class Row:
    """One workload with a number of threads, all peers."""

    work: PeerWorkload
    threads: int
    limits: Peaks
    times: Mapping[str, Times]
    #: by peer, why it has no times
    skipped: Mapping[str, str]
    #: what each peer says it is
    versions: Mapping[str, str]

    @property
    def best_peer(self) -> str | None:
        """The fastest that is not ours; None where nobody else was measured."""
        others = [name for name in self.times if name != OURS]
        return min(others, key=lambda name: self.times[name].median_s, default=None)

    @property
    def ratio(self) -> float | None:
        """The best peer's median over ours: above 1 we are faster."""
        if self.best_peer is None or OURS not in self.times:
            return None
        return self.times[self.best_peer].median_s / self.times[OURS].median_s

    @property
    def tie(self) -> bool:
        """Whether the interval of ours overlaps with the best peer's."""
        if self.best_peer is None or OURS not in self.times:
            return False
        a, b = self.times[self.best_peer].ci_s, self.times[OURS].ci_s
        return a[0] <= b[1] and b[0] <= a[1]

    def share(self, peer: str) -> float:
        """Of the limit that binds the workload: multiply-adds, or copying its bytes."""
        spent = self.times[peer].median_s
        if self.work.flops:
            return self.work.flops / spent / self.limits.flops_per_s
        return self.work.io_bytes / spent / self.limits.copy_bytes_per_s

    def to_json(self) -> dict[str, Any]:
        """One line of what the benchmark writes."""
        return {
            "workload": self.work.name, "title": self.work.title, "threads": self.threads,
            "flops": self.work.flops, "io_bytes": self.work.io_bytes,
            "flops_per_s": self.limits.flops_per_s,
            "copy_bytes_per_s": self.limits.copy_bytes_per_s,
            "peers": {
                name: {
                    "version": self.versions[name], "median_s": t.median_s, "ci_s": t.ci_s,
                    "min_s": t.min_s, "samples": t.samples, "share": self.share(name),
                }
                for name, t in self.times.items()
            },
            "skipped": dict(self.skipped), "best_peer": self.best_peer, "ratio": self.ratio,
            "tie": self.tie,
        }  # fmt: skip


def geometric_mean(ratios: Sequence[float]) -> float:
    """Of at least one ratio."""
    return math.exp(statistics.fmean(map(math.log, ratios)))


def table(rows: Sequence[Row]) -> list[str]:
    """Markdown for rows of one number of threads, with the mean ratio and what was skipped."""
    peers = list(dict.fromkeys(name for row in rows for name in row.times))
    names = [name for name in peers if name != OURS] + [name for name in peers if name == OURS]
    head = ["workload", "limit", *names, "best peer", "best peer / ours"]
    lines = [_line(head), _line(["---"] * len(head))]
    lines += [_line(_cells(row, names)) for row in rows]
    ratios = [row.ratio for row in rows if row.ratio is not None]
    if ratios:
        mean = geometric_mean(ratios)
        lines += ["", f"Geometric mean of the ratios of {len(ratios)} workloads: {mean:.2f}."]
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for peer, reason in row.skipped.items():
            reasons.setdefault((peer, reason), []).append(row.work.name)
    if reasons:
        lines += ["", "Skipped:"]
    for (peer, reason), works in reasons.items():
        lines.append(f"- {peer}, {', '.join(works)}: {reason}")
    return lines


def _cells(row: Row, names: Sequence[str]) -> list[str]:
    if row.work.flops:
        limit = f"f32 {row.limits.flops_per_s / 1e9:.0f}"
    else:
        limit = f"copy {row.limits.copy_bytes_per_s / 1e9:.0f}"
    times = [
        f"{row.times[name].median_s * 1e3:.3g} ({row.share(name):.0%})" if name in row.times else ""
        for name in names
    ]
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}{' (tie)' if row.tie else ''}"
    return [f"{row.work.name} {row.work.title}", limit, *times, row.best_peer or "", ratio]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
