"""The states of jobs, candidates and leases.

job        queued ──lease──▶ running ──▶ done | failed | cancelled
              └────▶ cancelled | expired
candidate  queued ──claim──▶ leased ──result──▶ done
              ▲                │ ├──lease lost──▶ queued, or done as worker_lost
              └────────────────┘ └──withdraw──▶ withdrawn ──▶ done | cancelled
lease      open ──▶ answered | lost
"""

from __future__ import annotations

from enum import StrEnum


class JobState(StrEnum):
    """States of a job, and of each of its workloads."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


ENDED = frozenset({JobState.DONE, JobState.FAILED, JobState.CANCELLED, JobState.EXPIRED})


class CandidateState(StrEnum):
    """Where a candidate is."""

    QUEUED = "queued"
    LEASED = "leased"
    #: leased, but not wanted any more; its result is taken if it comes
    WITHDRAWN = "withdrawn"
    DONE = "done"
    CANCELLED = "cancelled"


#: States in which a worker has the candidate.
HELD = (CandidateState.LEASED, CandidateState.WITHDRAWN)


class LeaseState(StrEnum):
    """Whether results are taken under a lease."""

    OPEN = "open"
    #: every candidate has its result
    ANSWERED = "answered"
    #: nobody renewed it, or its worker enrolled anew
    LOST = "lost"
