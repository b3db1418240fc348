"""Where a job's candidates are measured: the protocol between the tuning loop and its machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tuner.record import Candidate, Peaks, Record


class Bench(Protocol):
    """Measures the candidates of one job, on one machine, and keeps what it measured.

    A bench writes every result to the tuning log before it hands it out, so that what the loop
    was told survives the loop. It belongs to one job and is used by one thread.
    """

    def fingerprint(self, wait_s: float) -> str | None:
        """The machine that measures this job, from the first call that finds one until the job's
        end; None if no worker of the target was seen within `wait_s`."""

    def compiler(self) -> str:
        """What builds this job's candidates on that machine, as its measurements name it."""

    def peaks(self) -> Peaks | None:
        """What that machine can do at most; None until it was measured."""

    def submit(self, candidates: Sequence[Candidate]) -> None:
        """Queues candidates of one workload and purpose. An id that is known already is left as
        it is, so that a loop which lost its memory may submit it again."""

    def outstanding(self) -> list[Candidate]:
        """The candidates of this job that were submitted and have no result, in submit order."""

    def pending_elsewhere(self, workload: str) -> list[Candidate]:
        """Search candidates of `workload` that other jobs have submitted for the same setup, and
        that have no result. Of two tuners that ask in the same moment neither sees the other."""

    def collect(self, wait_s: float) -> list[Record]:
        """New results, in the order in which they came; waits until there is one, at most
        `wait_s` seconds. Each result is handed out once to a bench that lives on, and a candidate
        that was submitted again after its result came gets that result."""

    def withdraw(self) -> None:
        """Takes back whatever is outstanding. Results that come after all are kept in the log."""

    def cancelled(self) -> bool:
        """Whether the user wants this job to end."""
