"""One workload of a running job: its space, its strategy, and what was measured of it."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tuner.log import UNMEASURED, RecordFilter, TuningLog, steps_key
from tuner.model.cost import NO_EXAMPLES, CostModel, FeatureTable, together
from tuner.model.metrics import Accuracy, accuracy
from tuner.record import Candidate, Outcome, Purpose, Record, Setup, Timing
from tuner.schedule.steps import schedule_to_json
from tuner.search import STRATEGIES
from tuner.space.build import space_of
from tuner.tune.history import examples_of, located, seconds_of
from tuner.tune.job import TuneJob
from tuner.workload.workload import Workload

#: Candidate ids are names in this namespace.
_NAMESPACE = uuid.UUID("6f2b6f0e-8f4b-5d0c-9a54-3f0a2f5f7c11")


class Track:
    """The search for one workload."""

    def __init__(self, job: TuneJob, workload: Workload, setup: Setup) -> None:
        """Raises EmptySpaceError, and SearchError where the strategy cannot search the space."""
        self.workload, self.setup = workload, setup
        self._job = job
        self.space = space_of(workload.program, job.target)
        rng = np.random.default_rng((job.seed, int(workload.hash[-12:], 16)))
        self._strategy = STRATEGIES[job.strategy](self.space, rng)
        self._table = FeatureTable(workload.program, self.space, job.target)
        self.examples = NO_EXAMPLES
        #: search records that count, of this setup, from this job or an earlier one
        self.records: list[Record] = []
        #: sequence of the last record that was looked at
        self._seen = 0
        #: of this job only: outcome -> trials
        self.outcomes: Counter[str] = Counter()
        self.rounds = 0
        #: no unmeasured point is left
        self.dry = False
        #: what the scores of the last round that was told were worth; None where none was timed
        self.accuracy: Accuracy | None = None
        #: candidate -> its score when it was asked for
        self._foretold: dict[str, float] = {}
        #: nothing passed for so long that it is not asked any more
        self.given_up = False

    @property
    def best(self) -> Record | None:
        """The fastest search record so far."""
        return _fastest(self.records)

    @property
    def own_best(self) -> Record | None:
        """The fastest that this job had measured itself: what others did may have been imported."""
        return _fastest([r for r in self.records if r.job == self._job.id])

    def resume(self, log: TuningLog) -> None:
        """Learns from every search trial that this setup has had of this workload."""
        at = (self.workload.hash, self._job.target.name, self.setup)
        where = RecordFilter(workload=at[0], target=at[1], setup=at[2], purpose=Purpose.SEARCH)
        found = log.records(where)
        self._seen = found[-1].sequence if found else 0
        self._strategy.exclude(log.measured(*at))
        self._learn([r for r in found if r.measurement.outcome not in UNMEASURED])

    def catch_up(self, log: TuningLog) -> None:
        """Learns what other jobs have measured on this setup since this was called last."""
        where = RecordFilter(
            workload=self.workload.hash, target=self._job.target.name, setup=self.setup,
            purpose=Purpose.SEARCH,
        )  # fmt: skip
        found = log.records(where, self._seen)
        self._seen = found[-1].sequence if found else self._seen
        measured = [
            r for r in found
            if r.job != self._job.id and r.measurement.outcome not in UNMEASURED
        ]  # fmt: skip
        self._strategy.exclude(steps_key(r.steps) for r in measured)
        self._learn(measured)

    def ask(self, n: int, model: CostModel) -> list[Candidate]:
        """Up to `n` new candidates; none once the space has run dry."""
        points = self._strategy.ask(n, lambda some: model.scores(self._table.of(some)))
        self.dry = len(points) < n
        self.rounds += bool(len(points))
        steps = [self.space.schedule(points, row) for row in range(len(points))]
        timing = Timing(incumbent_s=self.best.measurement.median_s if self.best else None)
        asked = [self.candidate(schedule_to_json(s), Purpose.SEARCH, timing) for s in steps]
        scores = model.scores(self._table.of(points)).tolist()
        self._foretold.update(zip((c.id for c in asked), scores, strict=True))
        return asked

    def tell(self, records: Sequence[Record]) -> None:
        """Results of one round, in the order in which they were asked for."""
        self.outcomes.update(r.measurement.outcome for r in records)
        # An earlier life of the job took the scores of what it asked for with it.
        known = [r for r in records if r.id in self._foretold]
        scores = np.array([self._foretold.pop(r.id) for r in known])
        self.accuracy = accuracy(scores, np.array([seconds_of(r) for r in known]))
        self._learn([r for r in records if r.measurement.outcome not in UNMEASURED])

    def candidate(self, steps: dict[str, Any], purpose: Purpose, timing: Timing) -> Candidate:
        """A candidate whose id follows from job, workload, purpose and schedule."""
        key = f"{self._job.id}\n{self.workload.hash}\n{purpose}\n{steps_key(steps)}"
        return Candidate(
            id=str(uuid.uuid5(_NAMESPACE, key)), workload=self.workload.hash,
            target=self._job.target.name, steps=steps, purpose=purpose, timing=timing,
        )  # fmt: skip

    def exclude(self, candidates: Iterable[Candidate]) -> None:
        """These are being measured already."""
        self._strategy.exclude(steps_key(c.steps) for c in candidates)

    def why_none(self) -> str:
        """In words, why there is no best."""
        if not self.records:
            return "no candidate was measured before the job ended"
        counts = Counter(str(r.measurement.outcome) for r in self.records)
        listed = ", ".join(f"{name} {n}" for name, n in counts.most_common())
        detail = next((r.measurement.detail for r in self.records if r.measurement.detail), "")
        said = f"; the first said: {detail}" if detail else ""
        given_up = "given up, " if self.given_up else ""
        return f"{given_up}no candidate passed: {listed}{said}"

    def _learn(self, records: Sequence[Record]) -> None:
        self.records += records
        points, seconds = located(self.space, records)
        self._strategy.tell(points, seconds)
        new = examples_of(self._table, points, seconds, self.workload.hash, self.setup)
        self.examples = together([self.examples, new])


def _fastest(records: Sequence[Record]) -> Record | None:
    passed = [r for r in records if r.measurement.outcome is Outcome.OK]
    return min(passed, key=lambda r: (seconds_of(r), r.id), default=None)
