"""What earlier trials teach: records of the log as examples for the cost model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from tuner.errors import TilewrightError
from tuner.frontends.text import parse
from tuner.log import UNMEASURED, RecordFilter, TuningLog
from tuner.model.cost import Examples, FeatureTable, together
from tuner.record import Outcome, Purpose, Record, Setup
from tuner.schedule.steps import schedule_from_json
from tuner.space.build import space_of
from tuner.space.knobs import Floats
from tuner.space.space import Population, Space, join
from tuner.target import Target

#: Newest records of other workloads and machines that a job learns from before its first round.
MAX_RECORDS = 1500


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
    group = "/".join((workload, setup.fingerprint, setup.generator, setup.compiler))
    return Examples(table.of(points), seconds, (group,) * len(points))


def history(log: TuningLog, target: Target, own: Sequence[str], setup: Setup) -> Examples:
    """Search trials on `target`, but for those of workloads `own` on this very setup."""
    found = log.records(RecordFilter(target=target.name, purpose=Purpose.SEARCH))
    others = [
        r
        for r in found
        if not (r.workload in own and setup.made(r)) and r.measurement.outcome not in UNMEASURED
    ]
    others = sorted(others[-MAX_RECORDS:], key=lambda r: (*_place(r), r.sequence))
    parts = []
    for _, group in groupby(others, key=_place):
        parts.append(_of_one_place(log, list(group), target))
    return together(parts)


def _place(record: Record) -> tuple[str, ...]:
    """What records have to share to compare."""
    setup = Setup.of(record)
    return record.workload, setup.fingerprint, setup.generator, setup.compiler


def _of_one_place(log: TuningLog, records: list[Record], target: Target) -> Examples:
    workload = records[0].workload
    try:
        program = parse(log.workload(workload).text)
        space = space_of(program, target)
    except TilewrightError:
        # A program that this version refuses has nothing to teach it.
        return together([])
    points, seconds = located(space, records)
    table = FeatureTable(program, space, target)
    return examples_of(table, points, seconds, workload, Setup.of(records[0]))
