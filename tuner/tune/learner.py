"""The cost model of a running job: what it starts from, and what each round teaches it."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.features.table import FEATURE_VERSION
from tuner.log import SavedModel, TuningLog
from tuner.model.cost import AnalyticModel, CostModel, together
from tuner.model.xgb import RankingModel, fit
from tuner.record import Setup
from tuner.tune.history import history
from tuner.tune.job import TuneJob
from tuner.tune.track import Track


class Learner:
    """Fits the model to the target's log and to what the job's tracks have been told."""

    def __init__(self, job: TuneJob, log: TuningLog, setup: Setup, tracks: Sequence[Track]) -> None:
        self._job, self._log, self._tracks = job, log, tracks
        own = [w.hash for w in job.workloads]
        self._history = history(log, job.target, own, setup)
        self.model: CostModel = self._fitted() or self._saved() or AnalyticModel()

    def learn(self) -> None:
        """Fits anew; too few examples leave the model as it is."""
        self.model = self._fitted() or self.model

    def save(self) -> None:
        """Keeps a fitted model in the log."""
        if isinstance(self.model, RankingModel):
            sequences = [r.sequence for t in self._tracks for r in t.records]
            self._log.save_model(SavedModel(
                target=self._job.target.name, data=self.model.to_json(),
                features=FEATURE_VERSION, extent=max([self._history.extent, *sequences]),
            ))  # fmt: skip

    def _fitted(self) -> RankingModel | None:
        examples = together([self._history.examples, *(t.examples for t in self._tracks)])
        return fit(examples, self._job.seed)

    def _saved(self) -> RankingModel | None:
        saved = self._log.model(self._job.target.name)
        if saved is None:
            return None
        try:
            return RankingModel.from_json(saved.data)
        except ValueError:
            # Of another version: the log has what it was fitted on.
            return None
