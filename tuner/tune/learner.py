"""The cost model of a running job: what it starts from, and what each round teaches it.

The rounds that are asked for before any is told, the first two, use the model that an earlier job
has saved for the target; all others use one that is fitted to the log and to the rounds told. The
saved model is passed over where it reads features of another version, where the log has half as
many trials more as it was fitted on, and where there are trials of the job's own workloads, from an
earlier life for one. The first rounds then use a model fitted on the spot. All of that follows from
the log as the job finds it, not from how long anything takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from tuner.features.table import FEATURE_VERSION
from tuner.log import RecordFilter, SavedModel, TuningLog
from tuner.model.cost import AnalyticModel, CostModel, together
from tuner.model.xgb import RankingModel, fit
from tuner.record import Outcome, Purpose, Setup
from tuner.tune.history import History
from tuner.tune.job import TuneJob
from tuner.tune.track import Track


class Learner:
    """Fits the model to the target's log and to what the job's tracks have been told."""

    def __init__(self, job: TuneJob, log: TuningLog, setup: Setup, tracks: Sequence[Track]) -> None:
        self._job, self._log, self._tracks = job, log, tracks
        self._history = History(log, job.target, [w.hash for w in job.workloads], setup)
        known = any(len(track.examples) for track in tracks)
        self._saved = None if known else self._earlier()
        self.model: CostModel = self._saved or self._fitted() or AnalyticModel()

    def load_some(self) -> bool:
        """Loads a part of what the next fit needs; False where all is there."""
        return self._history.load_some()

    def learn(self) -> None:
        """Fits anew; too few examples leave the model as it is."""
        self.model = self._fitted() or self.model

    def save(self) -> None:
        """Keeps a model that this job has fitted in the log."""
        if isinstance(self.model, RankingModel) and self.model is not self._saved:
            sequences = [r.sequence for t in self._tracks for r in t.records]
            self._log.save_model(SavedModel(
                target=self._job.target.name, data=self.model.to_json(),
                features=FEATURE_VERSION, extent=max([self._history.extent, *sequences]),
            ))  # fmt: skip

    def _fitted(self) -> RankingModel | None:
        history = self._history.examples()
        return fit(together([history, *(t.examples for t in self._tracks)]), self._job.seed)

    def _earlier(self) -> RankingModel | None:
        saved = self._log.model(self._job.target.name)
        if saved is None:
            return None
        try:
            model = RankingModel.from_json(saved.data)
        except ValueError:
            # Of another version: the log has what it was fitted on.
            return None
        where = RecordFilter(
            target=self._job.target.name, purpose=Purpose.SEARCH, outcome=Outcome.OK
        )
        enough = sum(model.extent.values()) // 2
        newer = self._log.records(where, saved.extent, limit=enough)
        return None if len(newer) >= enough else model
