"""The tuner process: leases jobs, one after the other, and runs the tuning loop on each."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Hashable
from contextlib import suppress

import db
from db import tuning, workers
from db.clock import Clock
from db.engine import Database
from db.errors import DatabaseUnavailable
from db.schema import JobRow
from db.sql_log import SqlLog
from server.services.job_runner import JobProgress, Lease, conclude, fail, tune_job
from server.services.queue_bench import QueueBench, Stopped
from server.settings import Settings
from tuner.errors import Conflict, TilewrightError
from tuner.tune.loop import tune

_log = logging.getLogger(__name__)


def run(settings: Settings) -> int:
    """Tunes until SIGTERM or SIGINT; the job in hand is then left to the next tuner. Returns 0."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    database = db.open(settings.database_url, db.Role.TUNER)
    try:
        Tuner(database, settings, stop).run()
    finally:
        database.close()
    return 0


class Tuner:
    """One tuner. On SQLite it is the only one, on PostgreSQL any number share the jobs."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        stop: threading.Event,
        clock: Clock | None = None,
        timer: Clock = time.monotonic,
    ) -> None:
        self._database, self._settings, self._stop = database, settings, stop
        #: `timer` measures the job's seconds: unlike a clock it is never set
        self._clock, self._timer = clock or database.now, timer
        self._name = f"{socket.gethostname()}:{os.getpid()}"

    def run(self) -> None:
        """Takes up what a tuner before it left, then works until it is told to stop."""
        if self._database.exclusive:
            with self._database.write() as session:
                tuning.orphan_all(session)
        while not self._stop.is_set():
            try:
                self._next()
            except DatabaseUnavailable as error:
                _log.warning("waiting for the database: %s", error)
                self._stop.wait(self._settings.reap_s)

    def _next(self) -> None:
        """One job, or the time until there may be one."""
        mark = self._database.change_mark()
        job = self._lease()
        if job is not None:
            self._tune(job)
        else:
            self._idle(mark)

    def _lease(self) -> JobRow | None:
        now = self._clock()
        with self._database.write() as session:
            live = workers.live(session, now - self._settings.live_s)
            until = now + self._settings.job_lease_s
            return tuning.lease(session, self._name, live, now, until)

    def _idle(self, mark: Hashable) -> None:
        """Until the database changes; some things fall due without a change, so not for long."""
        until = time.monotonic() + self._settings.reap_s
        while time.monotonic() < until:
            stopped = self._database.pause(self._stop, self._settings.tick_s)
            if stopped or self._database.change_mark() != mark:
                return

    def _tune(self, job: JobRow) -> None:
        """Runs a leased job. However it goes, the job ends or a tuner takes it up again."""
        id, fence = job.id, job.fence
        try:
            with Lease(self._database, id, fence, self._settings.job_lease_s, self._clock):
                self._loop(job)
        except Stopped:
            with suppress(Conflict), self._database.write() as session:
                tuning.release(session, id, fence)
        except Conflict as error:
            _log.warning("job %s was given up: %s", id, error)
        except DatabaseUnavailable:
            _log.warning("job %s is left to whoever leases it next", id)
            raise
        except TilewrightError as error:
            self._fail(job, str(error))
        except Exception as error:
            _log.exception("job %s failed", id)
            self._fail(job, f"a defect of the tuner: {error!r}; its log has more")

    def _fail(self, job: JobRow, reason: str) -> None:
        with suppress(Conflict):
            fail(self._database, job.id, job.fence, reason, self._clock())

    def _loop(self, job: JobRow) -> None:
        asked = tune_job(self._database, job, self._clock())
        bench = QueueBench(self._database, job.id, job.fence, self._settings.tick_s, self._stop)
        log = SqlLog(self._database, self._clock)
        progress = JobProgress(self._database, job.id, job.fence, self._clock)
        tuned = tune(asked, log, bench, progress, self._timer)
        conclude(self._database, job.id, job.fence, tuned, self._clock())
