"""What the log already knows the answer to: workloads that were tuned before."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.log import RecordFilter, TuningLog
from tuner.record import BestSchedule, Setup

#: Best schedules that are looked through: those of other generators and compilers are left out.
_LOOKED_AT = 64


@dataclass(frozen=True, slots=True)
class Recalled:
    """A workload's answer without a trial."""

    best: BestSchedule
    #: when and with how many trials it was found, and how to go on
    reason: str


def recall(
    log: TuningLog, workload: str, target: str, setup: Setup, job: str = ""
) -> Recalled | None:
    """The fastest verified schedule that other jobs than `job` found of the workload on `setup`;
    None where it has yet to be tuned there."""
    found = log.best(workload, target, _LOOKED_AT, setup.fingerprint)
    where = RecordFilter(ids=frozenset(s.record for s in found), setup=setup)
    records = {r.id: r for r in log.records(where) if r.job != job}
    best = next((s for s in found if s.verified and s.record in records), None)
    if best is None:
        return None
    trials = len(log.measured(workload, target, setup))
    moment = records[best.record].created_at[:19]
    return Recalled(best, (
        f"tuned before with {trials} trials on this machine, measured {moment} UTC; "
        'ask for more to go on searching ("more": true; --more)'
    ))  # fmt: skip
