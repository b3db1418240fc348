"""The tuning loop's bench on the database's queue: workers measure, whenever they come."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from sqlalchemy import select

from db import jobs, queue, tuning
from db.engine import Database
from db.rows import record_of
from db.schema import RecordRow
from tuner.record import Candidate, Peaks, Record


class Stopped(Exception):
    """This tuner is to end; the job goes on with the next one."""


class QueueBench:
    """A tuner.tune.bench.Bench for one job under one lease of a tuner.

    Every call raises Conflict once another tuner has the job, and the waiting ones raise Stopped
    once `stop` is set.
    """

    def __init__(
        self, database: Database, job: str, fence: int, tick_s: float, stop: threading.Event
    ) -> None:
        self._database, self._job, self._fence, self._tick_s = database, job, fence, tick_s
        self._stop = stop
        #: sequence of the last record seen; what was recorded before this bench is the log's
        self._seen = self._last_sequence()
        self._handed_out: set[str] = set()
        #: ids that were submitted again after their result had come
        self._again: list[str] = []

    def fingerprint(self, wait_s: float) -> str | None:
        """The machine was chosen when the job was leased."""
        with self._database.read() as session:
            return tuning.held(session, self._job, self._fence).fingerprint

    def compiler(self) -> str:
        """Chosen with the machine; a machine that gets another one ends this lease."""
        with self._database.read() as session:
            return tuning.held(session, self._job, self._fence).compiler or ""

    def peaks(self) -> Peaks | None:
        with self._database.read() as session:
            peaks = tuning.held(session, self._job, self._fence).peaks
        return None if peaks is None else Peaks(**peaks)

    def submit(self, candidates: Sequence[Candidate]) -> None:
        """Raises Conflict, and queues none of them, where they exceed the job's budget."""
        with self._database.write() as session:
            job = tuning.hold(session, self._job, self._fence)
            self._again += queue.submit(session, job, candidates)

    def outstanding(self) -> list[Candidate]:
        with self._database.read() as session:
            return queue.outstanding(session, self._job)

    def pending_elsewhere(self, workload: str) -> list[Candidate]:
        with self._database.read() as session:
            job = tuning.held(session, self._job, self._fence)
            return queue.pending_elsewhere(session, job, workload)

    def collect(self, wait_s: float) -> list[Record]:
        until = time.monotonic() + wait_s
        while True:
            mark = self._database.change_mark()
            found = self._news()
            if found:
                return found
            while self._database.change_mark() == mark:
                left = until - time.monotonic()
                if left <= 0:
                    return []
                if self._database.pause(self._stop, min(self._tick_s, left)):
                    raise Stopped

    def withdraw(self) -> None:
        with self._database.write() as session:
            tuning.hold(session, self._job, self._fence)
            queue.withdraw(session, self._job)

    def cancelled(self) -> bool:
        if self._stop.is_set():
            raise Stopped
        with self._database.read() as session:
            return tuning.held(session, self._job, self._fence).cancel

    def _news(self) -> list[Record]:
        with self._database.read() as session:
            tuning.held(session, self._job, self._fence)
            by_id = select(RecordRow).where(RecordRow.id.in_(self._again))
            repeated = {row.id: record_of(row) for row in session.scalars(by_id)}
            later = select(RecordRow).where(
                RecordRow.job == self._job, RecordRow.sequence > self._seen
            )
            rows = session.scalars(later.order_by(RecordRow.sequence)).all()
            fresh = [record_of(row) for row in rows]
        found = [repeated[id] for id in self._again if id in repeated] + fresh
        self._again = [id for id in self._again if id not in repeated]
        self._seen = fresh[-1].sequence if fresh else self._seen
        # By id: a result may come in both ways.
        news = {r.id: r for r in found if r.id not in self._handed_out}
        self._handed_out |= news.keys()
        return list(news.values())

    def _last_sequence(self) -> int:
        query = select(RecordRow.sequence).where(RecordRow.job == self._job)
        with self._database.read() as session:
            jobs.get(session, self._job)
            last = session.scalar(query.order_by(RecordRow.sequence.desc()).limit(1))
            return last or 0
