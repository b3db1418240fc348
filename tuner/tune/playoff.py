"""The play-off: noise shall not choose the winner.

The leaders of a search were each timed once, on a machine that had better and worse moments. They
are timed again, in turn, until the medians have intervals; overlapping intervals are ties.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tuner.codegen.kernel import generate
from tuner.log import TuningLog, schedule_id
from tuner.record import BestSchedule, Candidate, Outcome, Peaks, Purpose, Record, Timing
from tuner.schedule.steps import schedule_from_json
from tuner.target import Target
from tuner.tune.history import seconds_of
from tuner.tune.track import Track
from tuner.workload.workload import Workload

#: Leaders on a quiet machine: at most so many, within so much of the fastest.
LEADERS = 4
MARGIN = 0.10
#: Noise from which on there are more of them, in proportion, and how many at most.
LOUD, MAX_LEADERS = 0.06, 12
#: A leader may lie behind by so many deviations of the difference of two trials.
DEVIATIONS = 2.0
#: Enough for an interval of the median that is worth having.
TIMING = Timing(min_samples=30, min_total_s=0.2)
#: Samples without which a median has no 95% interval.
_MIN_SAMPLES = 6


def leaders(track: Track) -> list[Candidate]:
    """The play-off's candidates, the fastest first; equal sources count once. The noisier the
    trials were, the more of them may be the fastest in truth."""
    best = track.best
    if best is None:
        return []
    noise = noise_of(track.records)
    limit = seconds_of(best) * (1 + max(MARGIN, DEVIATIONS * math.sqrt(2) * noise))
    most = min(MAX_LEADERS, math.ceil(LEADERS * max(1.0, noise / LOUD)))
    ranked = sorted(
        (r for r in track.records if seconds_of(r) <= limit), key=lambda r: (seconds_of(r), r.id)
    )
    different = {r.measurement.source_sha256 or r.id: r for r in reversed(ranked)}
    chosen = sorted(different.values(), key=lambda r: (seconds_of(r), r.id))[:most]
    return [track.candidate(r.steps, Purpose.PLAYOFF, TIMING) for r in chosen]


def noise_of(records: Sequence[Record]) -> float:
    """The deviation of one sample's logarithm, in the middle of all trials with 3 samples or more;
    0 where there are none. What disturbs all samples of a trial alike does not show."""
    sampled = [r.measurement.samples_s for r in records]
    found = [statistics.stdev(map(math.log, s)) for s in sampled if len(s) >= 3 and min(s) > 0]
    return statistics.median(found) if found else 0.0


def interval(samples: Sequence[float]) -> tuple[float, float] | None:
    """The 95% interval of the median from order statistics; None for fewer than 6 samples."""
    n = len(samples)
    if n < _MIN_SAMPLES:
        return None
    tail, k = 0.0, 0
    while tail + math.comb(n, k) * 0.5**n <= 0.025:
        tail += math.comb(n, k) * 0.5**n
        k += 1
    ordered = sorted(samples)
    return ordered[k - 1], ordered[n - k]


def ranking(
    track: Track, results: Mapping[str, Record], peaks: Peaks | None, target: Target
) -> list[BestSchedule]:
    """The leaders' schedules as they are served, the fastest first, ties named.

    `results` are play-off records by candidate id. Where no leader has one that passed, the
    fastest search trial of the job is served, with the interval that its few samples allow.
    """
    played = [results[c.id] for c in leaders(track) if c.id in results]
    passed = [r for r in played if r.measurement.outcome is Outcome.OK]
    if not passed and track.own_best is not None:
        passed = [track.own_best]
    served = [_served(track.workload, r, peaks, target) for r in passed]
    served.sort(key=lambda s: (s.median_s, s.id))
    return [
        replace(s, ties=tuple(o.id for o in served if o is not s and _tie(s, o))) for s in served
    ]


def _served(
    workload: Workload, record: Record, peaks: Peaks | None, target: Target
) -> BestSchedule:
    median = seconds_of(record)
    share = None
    if peaks is not None:
        needed = (
            workload.flops / peaks.flops_per_s,
            workload.io_bytes / peaks.copy_bytes_per_s,
        )
        share = max(needed) / median
    return BestSchedule(
        id=schedule_id(workload.hash, target.name, record.fingerprint, record.steps),
        workload=workload.hash, target=target.name, fingerprint=record.fingerprint,
        steps=record.steps, record=record.id, median_s=median,
        ci_s=interval(record.measurement.samples_s),
        source_sha256=record.measurement.source_sha256,
        gflops=workload.flops / median / 1e9, gbytes_per_s=workload.io_bytes / median / 1e9,
        peak_share=share, verified=True, prepare_s=record.measurement.prepare_s,
        prepared_bytes=record.measurement.prepared_bytes,
    )  # fmt: skip


def _tie(a: BestSchedule, b: BestSchedule) -> bool:
    """Whether the intervals overlap."""
    if a.ci_s is None or b.ci_s is None:
        return False
    return a.ci_s[0] <= b.ci_s[1] and b.ci_s[0] <= a.ci_s[1]


def keep(
    log: TuningLog, workload: Workload, target: Target, served: Sequence[BestSchedule]
) -> list[BestSchedule]:
    """Puts schedules and their sources into the log and returns those kept.

    Kept is only what this version of the generator writes as it was measured: the texts' sums are
    compared.
    """
    kept = []
    for schedule in served:
        text = generate(workload.program, schedule_from_json(schedule.steps), target)
        if text.sha256 == schedule.source_sha256:
            log.add_source(text.sha256, text.text)
            kept.append(schedule)
    ids = {s.id for s in kept}
    kept = [replace(s, ties=tuple(t for t in s.ties if t in ids)) for s in kept]
    log.set_best(kept)
    return kept
