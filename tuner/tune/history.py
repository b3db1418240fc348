"""What earlier trials teach: records of the log as examples for the cost model."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from threading import Lock

import numpy as np

from tuner.errors import TilewrightError
from tuner.frontends.text import parse
from tuner.log import RecordFilter, TuningLog, steps_key
from tuner.model.cost import Examples, FeatureTable, together
from tuner.record import Outcome, Record, Setup, Timed
from tuner.schedule.steps import schedule_from_json
from tuner.space.build import space_of
from tuner.space.knobs import Floats
from tuner.space.space import Population, Space, join
from tuner.target import Target, target

#: Trials of other workloads and machines that a job learns from before its first round.
MAX_TRIALS = 1500
#: Trials whose features this process keeps; 800 bytes each.
MAX_KNOWN = 20_000


def seconds_of(record: Record) -> float:
    """Median seconds, NaN where the trial failed."""
    measured = record.measurement
    passed = measured.outcome is Outcome.OK and measured.median_s is not None
    return float(measured.median_s or math.nan) if passed else math.nan


def located(space: Space, records: Sequence[Record]) -> tuple[Population, Floats]:
    """The points of `space` that were measured, with their seconds. Left out are schedules that the
    space does not have, such as those of another version of its rules."""
    points: list[Population] = []
    seconds: list[float] = []
    for record in records:
        try:
            point = space.recover(schedule_from_json(record.steps))
        except TilewrightError:
            continue
        if point is not None:
            points.append(point)
            seconds.append(seconds_of(record))
    nothing = Population(np.empty(0, np.int64), np.empty((0, space.width), np.int64))
    return join([nothing, *points]), np.array(seconds)


def examples_of(
    table: FeatureTable, points: Population, seconds: Floats, workload: str, setup: Setup
) -> Examples:
    """Examples of one workload on one setup."""
    group = _group(workload, table.target, setup)
    return Examples(table.of(points), seconds, (group,) * len(points))


class History:
    """What a job starts from: timed trials on the target `hardware`, but for those of workloads
    `own` on this very setup; where they are fewer than MAX_TRIALS, those of its nearest relatives
    as well. Loaded a workload at a time: in a new process the features of all take seconds."""

    def __init__(self, log: TuningLog, hardware: Target, own: Sequence[str], setup: Setup) -> None:
        self._log, self._hardware, self._own, self._setup = log, hardware, own, setup
        self._parts: list[Examples] = []
        self._loading = self._load()
        #: sequence of the last record among those loaded, 0 where there is none
        self.extent = 0

    def load_some(self) -> bool:
        """Loads the trials of one more workload; False where there is none left."""
        part = next(self._loading, None)
        self._parts += [] if part is None else [part]
        return part is not None

    def examples(self) -> Examples:
        """All of them; loads what is left."""
        while self.load_some():
            pass
        self._parts = [together(self._parts)]
        return self._parts[0]

    def _load(self) -> Iterator[Examples]:
        hardware, left = self._hardware, MAX_TRIALS
        for relative in (hardware, *relatives(hardware, self._log.targets())):
            if left <= 0:
                return
            found = [
                trial
                for trial in self._log.timed(relative.name)
                if relative != hardware
                or trial.workload not in self._own
                or trial.setup != self._setup
            ]
            chosen = fair(found, left)
            self.extent = max([self.extent, *(trial.sequence for trial in chosen)])
            for part in examples_in(self._log, relative, chosen):
                left -= len(part)
                yield part


def relatives(hardware: Target, names: frozenset[str]) -> list[Target]:
    """The targets called `names` that a model of `hardware` can learn from, the nearest first:
    those of its kind, by the factors between their vectors, registers, threads and caches."""
    known = []
    for name in sorted(names - {hardware.name}):
        try:
            known.append(target(name))
        except TilewrightError:
            # Another version had it.
            continue
    alike = [one for one in known if one.kind == hardware.kind]
    return sorted(alike, key=lambda one: float(np.abs(_sizes(one) - _sizes(hardware)).sum()))


def _sizes(hardware: Target) -> Floats:
    sizes = (
        hardware.vector_bits, hardware.vector_registers, hardware.threads, hardware.l1_bytes,
        hardware.l2_bytes, hardware.l3_bytes,
    )  # fmt: skip
    return np.log2(np.maximum(sizes, 1.0))


def fair(trials: Sequence[Timed], n: int) -> list[Timed]:
    """Up to `n` trials, from each workload and setup as many as from the others that have as many.
    Of each half are the fastest, and the rest are spread over all that are slower."""
    groups: dict[tuple[str, Setup], list[Timed]] = {}
    for trial in trials:
        groups.setdefault((trial.workload, trial.setup), []).append(trial)
    chosen: list[Timed] = []
    for left, group in enumerate(sorted(groups.values(), key=len)):
        share = (n - len(chosen)) // (len(groups) - left)
        chosen += _spread(group, share)
    return chosen


def _spread(group: list[Timed], n: int) -> list[Timed]:
    ordered = sorted(group, key=lambda trial: (trial.seconds, trial.sequence))
    if len(ordered) <= n:
        return ordered
    fastest = n - n // 2
    rest = np.linspace(len(ordered) - 1, fastest, n // 2).astype(int)
    return ordered[:fastest] + [ordered[i] for i in rest]


def _group(workload: str, hardware: Target, setup: Setup) -> str:
    """What examples have to share to compare."""
    parts = (workload, hardware.name, setup.fingerprint, setup.generator, setup.compiler)
    return "/".join(parts)


def examples_in(log: TuningLog, hardware: Target, trials: Sequence[Timed]) -> Iterator[Examples]:
    """Examples of the trials, workload by workload."""
    by_workload: dict[str, list[Record]] = {}
    for record in log.records(RecordFilter(ids=frozenset(trial.id for trial in trials))):
        by_workload.setdefault(record.workload, []).append(record)
    for workload, records in by_workload.items():
        rows = _ROWS.of(log.workload(workload).text, hardware, records)
        found = [record for record in records if record.id in rows]
        if found:
            yield Examples(
                np.stack([rows[record.id] for record in found]),
                np.array([seconds_of(record) for record in found]),
                tuple(_group(workload, hardware, Setup.of(record)) for record in found),
            )


class _Rows:
    """Features of measured points, each computed once in this process. Used by many threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        #: (program, target, schedule) -> features, None where this version has no such point
        self._known: OrderedDict[tuple[str, str, str], Floats | None] = OrderedDict()

    def of(self, text: str, hardware: Target, records: Sequence[Record]) -> Mapping[str, Floats]:
        """Features of the records of one workload that this version's space has, by their ids."""
        keys = {r.id: (text, hardware.name, steps_key(r.steps)) for r in records}
        with self._lock:
            new = [r for r in records if keys[r.id] not in self._known]
            computed = _computed(text, hardware, new)
            self._known |= {keys[r.id]: computed.get(r.id) for r in new}
            found = {r.id: self._known[keys[r.id]] for r in records}
            while len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)
        return {id: row for id, row in found.items() if row is not None}


_ROWS = _Rows()


def _computed(text: str, hardware: Target, records: Sequence[Record]) -> dict[str, Floats]:
    if not records:
        return {}
    try:
        program = parse(text)
        space = space_of(program, hardware)
    except TilewrightError:
        # A program that this version refuses has nothing to teach it.
        return {}
    table = FeatureTable(program, space, hardware)
    found = {r.id: located(space, [r])[0] for r in records}
    found = {id: point for id, point in found.items() if len(point)}
    rows = table.of(join(list(found.values()))) if found else np.empty((0, 0))
    return dict(zip(found, rows, strict=True))
