"""How the workloads of a job end: the winners are kept, and each end has its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tuner.log import TuningLog
from tuner.recall import Recalled
from tuner.record import BestSchedule, Outcome, Peaks, Record
from tuner.tune.job import Progress, State, Tuned, TuneJob
from tuner.tune.playoff import keep, ranking
from tuner.tune.track import Track
from tuner.workload.workload import Workload


class Endings:
    """The ends of one job's workloads, told when they come."""

    def __init__(self, job: TuneJob, log: TuningLog, progress: Progress) -> None:
        self._job, self._log, self._progress = job, log, progress
        self._ended: dict[str, Tuned] = {}

    def in_order(self) -> list[Tuned]:
        """All of them, in the job's order, once each workload has ended."""
        return [self._ended[w.hash] for w in self._job.workloads]

    def without_search(self, workload: Workload, reason: str) -> None:
        """A workload that cannot be searched has failed."""
        self._end(workload, State.FAILED, reason, Counter())

    def recalled(self, workload: Workload, known: Recalled) -> None:
        """A workload that was tuned before is done without a trial."""
        self._end(workload, State.DONE, known.reason, Counter(), [known.best])

    def end_all(
        self,
        tracks: Sequence[Track],
        results: Mapping[str, Record],
        peaks: Peaks | None,
        cancelled: bool,
    ) -> None:
        """Ends every workload that has not ended, with the best of what `results` has of its
        play-off, by candidate id."""
        for track in tracks:
            served = ranking(track, results, peaks, self._job.target)
            kept = keep(self._log, track.workload, self._job.target, served)
            end = _CANCELLED if cancelled else _conclusion(track, bool(served), bool(kept))
            self._end(track.workload, *end, track.outcomes, kept)
        for workload in self._job.workloads:
            if workload.hash not in self._ended:
                self._end(workload, *_CANCELLED, Counter())

    def _end(
        self,
        workload: Workload,
        state: State,
        reason: str,
        outcomes: Mapping[str, int],
        kept: Sequence[BestSchedule] = (),
    ) -> None:
        done, passed = sum(outcomes.values()), outcomes.get(Outcome.OK, 0)
        best = kept[0] if kept else None
        self._ended[workload.hash] = Tuned(
            workload=workload.hash, state=state, reason=reason, done=done, failed=done - passed,
            failures={str(k): n for k, n in outcomes.items() if k is not Outcome.OK}, best=best,
        )  # fmt: skip
        self._progress.event("state", {
            "workload": workload.hash, "state": str(state), "reason": reason,
            "median_s": best.median_s if best else None,
        })  # fmt: skip


_CANCELLED = (State.CANCELLED, "the job was cancelled")


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
