"""The tuning loop: ask, measure, tell, fit, until the budget is spent; then the play-offs.

Workloads take turns, a round each. Two rounds are in flight, so that the machine measures one
while the model learns from the one before: round n is asked with a model of rounds up to n - 2,
whatever order the results come in.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tuner.errors import EmptySpaceError
from tuner.features.table import FEATURE_VERSION
from tuner.log import RecordFilter, SavedModel, TuningLog
from tuner.model.cost import AnalyticModel, CostModel, together
from tuner.model.xgb import RankingModel, fit
from tuner.record import BestSchedule, Candidate, Outcome, Purpose, Record
from tuner.tune.bench import Bench
from tuner.tune.history import history
from tuner.tune.job import Progress, State, Tuned, TuneJob
from tuner.tune.playoff import keep, leaders, ranking
from tuner.tune.track import Track
from tuner.workload.workload import Workload

#: Candidates in a round, at most.
ROUND = 16
#: Rounds that are being measured at a time.
IN_FLIGHT = 2
#: Longest wait for results before the job looks at its clock and for a cancellation.
TICK_S = 0.5
#: A play-off that has not ended after this share of the job's seconds, or this many, is cut off.
PLAYOFF_SHARE = 0.1
PLAYOFF_MIN_S = 60.0


@dataclass(frozen=True, slots=True)
class _Round:
    """Candidates that were asked for together."""

    track: Track
    candidates: tuple[Candidate, ...]


class _Cancelled(Exception):
    """The user wants no more."""


def tune(
    job: TuneJob,
    log: TuningLog,
    bench: Bench,
    progress: Progress,
    clock: Callable[[], float] = time.monotonic,
) -> list[Tuned]:
    """Runs a job to its end and returns how each workload ended, in the job's order.

    A job that was interrupted goes on: its records are told first and count against its budget,
    its outstanding candidates are waited for. `clock` is in seconds.
    """
    return _Tuning(job, log, bench, progress, clock).run()


class _Tuning:
    def __init__(
        self, job: TuneJob, log: TuningLog, bench: Bench, progress: Progress,
        clock: Callable[[], float],
    ) -> None:  # fmt: skip
        self._job, self._log, self._bench, self._progress = job, log, bench, progress
        self._clock = clock
        self._deadline = clock() + job.seconds
        self._rounds: deque[_Round] = deque()
        #: results of this life by candidate id
        self._results: dict[str, Record] = {}
        self._ended: dict[str, Tuned] = {}
        self._tracks: list[Track] = []
        self._issued = 0
        #: candidates in each round of this lap over the workloads: the last laps share what is left
        self._size = ROUND
        self._model: CostModel = AnalyticModel()

    def run(self) -> list[Tuned]:
        try:
            fingerprint = self._machine()
            self._open(fingerprint)
            self._search()
            self._play_off()
        except _Cancelled:
            self._stop()
            self._end_all(State.CANCELLED, "the job was cancelled")
        self._end_all(State.DONE, "")
        self._save_model()
        return [self._ended[w.hash] for w in self._job.workloads]

    def _machine(self) -> str:
        """Waits for a worker, not against the job's seconds."""
        while True:
            fingerprint = self._bench.fingerprint(TICK_S)
            if fingerprint is not None:
                return fingerprint
            self._check_cancelled()
            self._deadline = self._clock() + self._job.seconds

    def _open(self, fingerprint: str) -> None:
        """Sets up each workload's search and takes up what an earlier life of the job left."""
        for workload in self._job.workloads:
            try:
                track = Track(self._job, workload, fingerprint)
            except EmptySpaceError as error:
                self._end(workload, State.FAILED, f"no schedule to try: {error}", None)
                continue
            track.resume(self._log)
            self._tracks.append(track)
        own = [w.hash for w in self._job.workloads]
        self._history = history(self._log, self._job.target, own, fingerprint)
        self._take_up()
        self._model = self._first_model()

    def _take_up(self) -> None:
        where = RecordFilter(job=self._job.id, purpose=Purpose.SEARCH)
        spent = self._log.records(where)
        open_yet = [c for c in self._bench.outstanding() if c.purpose is Purpose.SEARCH]
        self._issued = len({r.id for r in spent} | {c.id for c in open_yet})
        for track in self._tracks:
            own = [r for r in spent if r.workload == track.workload.hash]
            track.outcomes = Counter(r.measurement.outcome for r in own)
            waiting = tuple(c for c in open_yet if c.workload == track.workload.hash)
            track.exclude(waiting)
            if waiting:
                self._rounds.append(_Round(track, waiting))

    def _first_model(self) -> CostModel:
        saved = self._log.model(self._job.target.name)
        fitted = self._fitted()
        if fitted is not None or saved is None or saved.features != FEATURE_VERSION:
            return fitted or AnalyticModel()
        return RankingModel.from_json(saved.data)

    def _search(self) -> None:
        turn = 0
        while True:
            self._check_cancelled()
            if self._clock() >= self._deadline:
                self._stop()
                return
            turn = self._ask(turn)
            if not self._rounds:
                return
            if self._complete():
                self._tell()
            else:
                self._collect(self._deadline)

    def _ask(self, turn: int) -> int:
        """Fills up the rounds in flight; returns whose turn is next."""
        while len(self._rounds) < IN_FLIGHT and self._issued < self._job.trials:
            open_yet = [t for t in self._tracks if not t.dry]
            if not open_yet:
                return turn
            left = self._job.trials - self._issued
            place = turn % len(open_yet)
            if place == 0:
                self._size = min(ROUND, -(-left // len(open_yet)))
            turn += 1
            track = open_yet[place]
            candidates = track.ask(min(self._size, left), self._model)
            if candidates:
                self._bench.submit(candidates)
                self._issued += len(candidates)
                self._rounds.append(_Round(track, tuple(candidates)))
                self._tell_round(track, len(candidates))
        return turn

    def _collect(self, until: float) -> None:
        left = max(0.0, min(TICK_S, until - self._clock()))
        for record in self._bench.collect(left):
            self._results[record.id] = record
            self._progress.event("trial", {
                "workload": record.workload, "candidate": record.id,
                "purpose": str(record.purpose), "outcome": str(record.measurement.outcome),
                "median_s": record.measurement.median_s, "detail": record.measurement.detail,
            })  # fmt: skip

    def _complete(self) -> bool:
        """Whether all results of the oldest round in flight are there."""
        return all(c.id in self._results for c in self._rounds[0].candidates)

    def _tell(self) -> None:
        """Hands the oldest round to its strategy, in the order in which it was asked for. One round
        at a time: how many more are complete by now must not matter for what is asked next."""
        done = self._rounds.popleft()
        before = done.track.best
        done.track.tell([self._results[c.id] for c in done.candidates])
        best = done.track.best
        if best is not None and best is not before:
            self._progress.event("best", {
                "workload": best.workload, "candidate": best.id,
                "median_s": best.measurement.median_s,
            })  # fmt: skip
        self._model = self._fitted() or self._model

    def _stop(self) -> None:
        """Wants no more results; takes those of rounds that are not complete for what they are."""
        self._bench.withdraw()
        for left in self._rounds:
            found = (self._results.get(c.id) for c in left.candidates)
            left.track.tell([record for record in found if record is not None])
        self._rounds.clear()

    def _fitted(self) -> RankingModel | None:
        examples = together([self._history, *(t.examples for t in self._tracks)])
        return fit(examples, self._job.seed)

    def _play_off(self) -> None:
        """Times the leaders of all workloads again."""
        limit = self._clock() + max(PLAYOFF_MIN_S, PLAYOFF_SHARE * self._job.seconds)
        wanted: set[str] = set()
        for track in self._tracks:
            candidates = leaders(track)
            if candidates:
                self._bench.submit(candidates)
                wanted |= {c.id for c in candidates}
        while not wanted <= self._results.keys():
            self._check_cancelled()
            if self._clock() >= limit:
                self._bench.withdraw()
                return
            self._collect(limit)

    def _end_all(self, state: State, reason: str) -> None:
        """Ends every workload that has not ended."""
        peaks = self._bench.peaks()
        for track in self._tracks:
            if track.workload.hash in self._ended:
                continue
            served = ranking(track, self._results, peaks, self._job.target)
            kept = keep(self._log, track.workload, self._job.target, served)
            outcome = (state, reason)
            if state is State.DONE:
                outcome = _conclusion(track, bool(served), bool(kept))
            self._end(track.workload, *outcome, track, kept)
        for workload in self._job.workloads:
            if workload.hash not in self._ended:
                self._end(workload, state, reason, None)

    def _end(
        self,
        workload: Workload,
        state: State,
        reason: str,
        track: Track | None,
        kept: Sequence[BestSchedule] = (),
    ) -> None:
        outcomes = track.outcomes if track else Counter[str]()
        passed = outcomes.get(Outcome.OK, 0)
        best = kept[0] if kept else None
        self._ended[workload.hash] = Tuned(
            workload=workload.hash, state=state, reason=reason, done=sum(outcomes.values()),
            failed=sum(outcomes.values()) - passed,
            failures={str(k): n for k, n in outcomes.items() if k is not Outcome.OK}, best=best,
        )  # fmt: skip
        self._progress.event("state", {
            "workload": workload.hash, "state": str(state), "reason": reason,
            "median_s": best.median_s if best else None,
        })  # fmt: skip

    def _tell_round(self, track: Track, asked: int) -> None:
        best = track.best
        self._progress.event("round", {
            "workload": track.workload.hash, "round": track.rounds, "asked": asked,
            "issued": self._issued, "median_s": best.measurement.median_s if best else None,
        })  # fmt: skip

    def _save_model(self) -> None:
        if isinstance(self._model, RankingModel):
            sequences = [r.sequence for t in self._tracks for r in t.records]
            self._log.save_model(SavedModel(
                target=self._job.target.name, data=self._model.to_json(),
                features=FEATURE_VERSION, extent=max(sequences, default=0),
            ))  # fmt: skip

    def _check_cancelled(self) -> None:
        if self._bench.cancelled():
            raise _Cancelled


def _conclusion(track: Track, measured: bool, kept: bool) -> tuple[State, str]:
    """How a workload ended whose search is over."""
    if kept:
        reason = "no unmeasured point of the space was left" if track.dry else ""
        return State.DONE, reason
    if measured:
        return State.FAILED, (
            "the generator has changed: none of the leaders' sources is what was measured; "
            "run the job again"
        )
    return State.FAILED, track.why_none()
