"""The tuning loop: ask, measure, tell, fit, until the budget is spent; then the play-offs.

A scheduler says whose round is next. Two rounds are in flight, so that the machine measures one
while the model learns from the one before: round n is asked with a model of rounds up to n - 2,
whatever order the results come in. The first two may be asked with what an earlier job has saved
(tuner.tune.learner), so that the machine need not wait for the log.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

from tuner.codegen.kernel import GENERATOR
from tuner.errors import EmptySpaceError, SearchError
from tuner.log import RecordFilter, TuningLog
from tuner.recall import Recalled, recall
from tuner.record import Candidate, Purpose, Record, Setup
from tuner.tune.accounts import Accounts
from tuner.tune.bench import Bench
from tuner.tune.ending import Endings
from tuner.tune.history import seconds_of
from tuner.tune.job import Progress, Tuned, TuneJob
from tuner.tune.learner import Learner
from tuner.tune.playoff import leaders
from tuner.tune.scheduler import GainScheduler, Scheduling
from tuner.tune.track import Track
from tuner.workload.workload import Workload

#: Rounds that are being measured at a time.
IN_FLIGHT = 2
#: Longest wait for results before the job looks at its clock and for a cancellation.
TICK_S = 0.5
#: A play-off that has not ended after this share of the job's seconds, or this many, is cut off.
PLAYOFF_SHARE = 0.1
PLAYOFF_MIN_S = 60.0


@dataclass(frozen=True, slots=True)
class _Round:
    """Candidates of one track that were asked for together."""

    task: int
    candidates: tuple[Candidate, ...]


class _Cancelled(Exception):
    """The user wants no more."""


def tune(
    job: TuneJob,
    log: TuningLog,
    bench: Bench,
    progress: Progress,
    clock: Callable[[], float] = time.monotonic,
    scheduling: Scheduling = GainScheduler,
) -> list[Tuned]:
    """Runs a job to its end and returns how each workload ended, in the job's order.

    A job that was interrupted goes on: its records are told first and count against its budget,
    its outstanding candidates are waited for. `clock` is in seconds.
    """
    return _Tuning(job, log, bench, progress, clock, scheduling).run()


class _Tuning:
    def __init__(
        self, job: TuneJob, log: TuningLog, bench: Bench, progress: Progress,
        clock: Callable[[], float], scheduling: Scheduling,
    ) -> None:  # fmt: skip
        self._spent = Accounts(clock, job.spent)
        self._job, self._clock, self._scheduling = job, clock, scheduling
        self._log = self._spent.booked(log, "database")
        self._bench = self._spent.booked(
            bench, "database", collect="waiting", fingerprint="waiting"
        )
        self._progress = self._spent.booked(progress, "database")
        self._deadline = clock() + job.seconds
        self._rounds: deque[_Round] = deque()
        #: results of this life by candidate id
        self._results: dict[str, Record] = {}
        self._endings = Endings(job, self._log, self._progress)
        self._tracks: list[Track] = []
        self._issued = 0
        #: candidates of any purpose that the job has asked for
        self._asked = 0
        self._learner: Learner

    def run(self) -> list[Tuned]:
        with self._spent.on("search"):
            ended = self._run()
        self._tell_spent()
        return ended

    def _run(self) -> list[Tuned]:
        cancelled = False
        try:
            self._open(self._machine())
            self._search()
            self._play_off()
        except _Cancelled:
            self._stop()
            cancelled = True
        for task, track in enumerate(self._tracks):
            track.given_up = self._scheduler.given_up(task)
        self._endings.end_all(self._tracks, self._results, self._bench.peaks(), cancelled)
        if self._tracks:
            with self._spent.on("model"):
                self._learner.save()
        return self._endings.in_order()

    def _machine(self) -> Setup:
        """Waits for a worker, not against the job's seconds."""
        while True:
            fingerprint = self._bench.fingerprint(TICK_S)
            if fingerprint is not None:
                return Setup(fingerprint, GENERATOR, self._bench.compiler())
            self._check_cancelled()
            self._deadline = self._clock() + self._job.seconds

    def _open(self, setup: Setup) -> None:
        """Sets up each workload's search and takes up what an earlier life of the job left."""
        # Before the log is read: what gets its result in between is then in both, not in neither.
        queued = self._bench.outstanding()
        for workload in self._job.workloads:
            known = self._recall(workload, setup)
            if known is not None:
                self._endings.recalled(workload, known)
                continue
            try:
                track = Track(self._job, workload, setup)
            except (EmptySpaceError, SearchError) as error:
                self._endings.without_search(workload, f"no schedule to try: {error}")
                continue
            track.resume(self._log)
            self._tracks.append(track)
        weights = self._job.weights
        self._scheduler = self._scheduling(
            [weights.get(t.workload.hash, 1.0) for t in self._tracks]
        )
        self._take_up(queued)
        if self._tracks:
            with self._spent.on("model"):
                self._learner = Learner(self._job, self._log, setup, self._tracks)

    def _recall(self, workload: Workload, setup: Setup) -> Recalled | None:
        if self._job.more:
            return None
        return recall(self._log, workload.hash, self._job.target.name, setup, self._job.id)

    def _take_up(self, queued: Sequence[Candidate]) -> None:
        known = self._log.records(RecordFilter(job=self._job.id))
        for record in known:
            self._spent.measured(record)
        numbers = [r.number for r in known] + [c.number for c in queued]
        self._asked = max(numbers, default=0)
        spent = [r for r in known if r.purpose is Purpose.SEARCH]
        open_yet = [c for c in queued if c.purpose is Purpose.SEARCH]
        self._issued = len({r.id for r in spent} | {c.id for c in open_yet})
        for task, track in enumerate(self._tracks):
            hash, learned = track.workload.hash, {r.id for r in track.records}
            waiting = tuple(c for c in open_yet if c.workload == hash and c.id not in learned)
            track.exclude(waiting)
            pending = {c.id for c in waiting}
            own = [r for r in spent if r.workload == hash and r.id not in pending]
            own.sort(key=lambda r: r.number)
            track.outcomes = Counter(r.measurement.outcome for r in own)
            ids = {r.id for r in own}
            earlier = [seconds_of(r) for r in track.records if r.id not in ids]
            self._scheduler.known(task, earlier)
            self._scheduler.asked(task, len(own) + len(waiting))
            self._scheduler.told(task, [seconds_of(r) for r in own if track.setup.made(r)])
            if waiting:
                self._rounds.append(_Round(task, waiting))

    def _search(self) -> None:
        while True:
            self._check_cancelled()
            if self._clock() >= self._deadline:
                self._stop()
                return
            self._ask()
            if not self._rounds:
                return
            if self._complete():
                self._tell()
                continue
            # What to learn from is loaded while the first rounds are measured.
            with self._spent.on("model"):
                loading = self._learner.load_some()
            self._collect(self._clock() if loading else self._deadline)

    def _ask(self) -> None:
        """Fills up the rounds in flight."""
        while len(self._rounds) < IN_FLIGHT and self._issued < self._job.trials:
            turn = self._scheduler.next(self._job.trials - self._issued)
            if turn is None:
                return
            track = self._tracks[turn.task]
            self._catch_up(track)
            candidates = track.ask(turn.size, self._learner.model)
            if track.dry:
                self._scheduler.close(turn.task)
            if candidates:
                self._submit(candidates)
                self._issued += len(candidates)
                self._scheduler.asked(turn.task, len(candidates))
                self._rounds.append(_Round(turn.task, tuple(candidates)))
                self._tell_round(track, len(candidates))

    def _catch_up(self, track: Track) -> None:
        """Takes up what other jobs have measured meanwhile, leaves out what they are measuring."""
        track.catch_up(self._log)
        track.exclude(self._bench.pending_elsewhere(track.workload.hash))

    def _submit(self, candidates: Sequence[Candidate]) -> None:
        """Numbers them in the order in which the job asks for them, and queues them."""
        numbered = [replace(c, number=self._asked + n) for n, c in enumerate(candidates, 1)]
        self._asked += len(numbered)
        self._bench.submit(numbered)

    def _collect(self, until: float) -> None:
        left = max(0.0, min(TICK_S, until - self._clock()))
        for record in self._bench.collect(left):
            self._results[record.id] = record
            self._spent.measured(record)
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
        track = self._tracks[done.task]
        before = track.best
        records = [self._results[c.id] for c in done.candidates]
        track.tell(records)
        self._scheduler.told(done.task, [seconds_of(r) for r in records])
        best = track.best
        if best is not None and best is not before:
            self._progress.event("best", {
                "workload": best.workload, "candidate": best.id,
                "median_s": best.measurement.median_s,
            })  # fmt: skip
        with self._spent.on("model"):
            self._learner.learn()
        self._tell_spent()

    def _stop(self) -> None:
        """Wants no more results; takes those of rounds that are not complete for what they are."""
        self._bench.withdraw()
        for left in self._rounds:
            found = (self._results.get(c.id) for c in left.candidates)
            self._tracks[left.task].tell([record for record in found if record is not None])
        self._rounds.clear()

    def _play_off(self) -> None:
        """Times the leaders of all workloads again."""
        limit = self._clock() + max(PLAYOFF_MIN_S, PLAYOFF_SHARE * self._job.seconds)
        wanted: set[str] = set()
        for track in self._tracks:
            track.catch_up(self._log)
            candidates = leaders(track)
            if candidates:
                self._submit(candidates)
                wanted |= {c.id for c in candidates}
        while not wanted <= self._results.keys():
            self._check_cancelled()
            if self._clock() >= limit:
                self._bench.withdraw()
                return
            self._collect(limit)

    def _tell_round(self, track: Track, asked: int) -> None:
        best = track.best
        self._progress.event("round", {
            "workload": track.workload.hash, "round": track.rounds, "asked": asked,
            "issued": self._issued, "median_s": best.measurement.median_s if best else None,
            "accuracy": asdict(track.accuracy) if track.accuracy else None,
        })  # fmt: skip

    def _tell_spent(self) -> None:
        self._progress.event("spent", {"seconds": self._spent.seconds()})

    def _check_cancelled(self) -> None:
        if self._bench.cancelled():
            raise _Cancelled
