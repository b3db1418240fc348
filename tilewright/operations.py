"""What can be asked of the service, each as a flow with a typed answer.

tilewright.clients makes methods of both clients of these functions; the docstrings are theirs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tilewright import exchange
from tilewright.exchange import Flow, Json, Pause, ServiceError
from tilewright.results import (
    Best,
    Job,
    Operator,
    Record,
    Stages,
    TargetStatus,
    Worker,
    read,
)
from tuner.errors import TilewrightError

#: seconds between two looks at a job: at first, and at most
LOOK_S, LOOK_AT_MOST_S = 0.1, 2.0
#: seconds for which a service that cannot be reached is tried again
RECONNECT_S = 120.0


class WaitTimeout(TilewrightError):
    """A job did not end in the time that its waiter had; the job goes on."""


@dataclass(frozen=True, slots=True)
class Op:
    """An operator of the catalogue with its sizes; see `op`."""

    name: str
    sizes: Mapping[str, int | str] = field(default_factory=dict)
    dtype: str = "f32"
    #: inputs that are the same in all calls, beside those that are in the catalogue
    constants: Sequence[str] = ()


def op(name: str, dtype: str = "f32", constants: Sequence[str] = (), **sizes: int | str) -> Op:
    """An operator to tune: `op("matmul", m=512, n=512, k=512, constants=["b"])`."""
    return Op(name, sizes, dtype, tuple(constants))


class Written(Protocol):
    """Something that has a program's text: what `tilewright.program` makes."""

    @property
    def text(self) -> str:
        """As the service takes it."""


#: What can be tuned: an operator, a decorated program, or a program's text.
Workload = Op | Written | str


def submit(  # noqa: PLR0913 - the fields of a job
    *workloads: Workload,
    target: str | None = None,
    trials: int = 128,
    seconds: float | None = None,
    strategy: str = "evolutionary",
    seed: int = 0,
    priority: int = 0,
    more: bool = False,
) -> Flow[Job]:
    """Queue a job over `workloads`, which share its budget. What was tuned on the service's machine
    before is answered at once, unless the job is to search for `more`."""
    budget = {"trials": trials} | ({} if seconds is None else {"seconds": seconds})
    body: Json = {
        "workloads": [_described(workload) for workload in workloads], "budget": budget,
        "strategy": strategy, "seed": seed, "priority": priority, "more": more,
    }  # fmt: skip
    return read(Job, (yield from exchange.post("/v1/jobs", body | _named(target))))


def _described(workload: Workload) -> Json:
    """A workload as the service takes it."""
    if isinstance(workload, Op):
        constants = {"constants": list(workload.constants)} if workload.constants else {}
        about = {"op": workload.name, "sizes": dict(workload.sizes), "dtype": workload.dtype}
        return about | constants
    return {"program": workload if isinstance(workload, str) else workload.text}


def _named(target: str | None) -> Json:
    return {} if target is None else {"target": target}


def job(id: str) -> Flow[Job]:
    """A job as it is now."""
    return read(Job, (yield from exchange.get(f"/v1/jobs/{id}")))


def wait(id: str, timeout_s: float | None = None) -> Flow[Job]:
    """A job once it has ended, however it did. Survives a service that restarts.

    Raises WaitTimeout after `timeout_s`. Whoever stops waiting leaves the job running.
    """
    begun = reached = time.monotonic()
    pause_s = LOOK_S
    while True:
        try:
            found = yield from job(id)
            if found.ended:
                return found
            reached = time.monotonic()
        except ServiceError as error:
            if error.status or time.monotonic() - reached > RECONNECT_S:
                raise
        if timeout_s is not None and time.monotonic() - begun >= timeout_s:
            raise WaitTimeout(f"job {id} has not ended within {timeout_s:g} s; it goes on")
        yield Pause(pause_s)
        pause_s = min(2 * pause_s, LOOK_AT_MOST_S)


def cancel(id: str) -> Flow[Job]:
    """Ask for the end of a job; what was measured is kept."""
    return read(Job, (yield from exchange.post(f"/v1/jobs/{id}/cancel")))


def jobs(state: str | None = None, limit: int = 100) -> Flow[tuple[Job, ...]]:
    """Up to `limit` jobs, youngest first."""
    found = yield from exchange.pages("/v1/jobs", limit, state=state)
    return tuple(read(Job, item) for item in found)


def best(workload: Workload, target: str | None = None, k: int = 1) -> Flow[Best]:
    """The best verified schedules known of a workload, fastest first.

    `workload` may also be a hash ("w1:…"). The target may be omitted while there is only one.
    """
    if isinstance(workload, str) and workload.startswith("w1:"):
        found = yield from exchange.get("/v1/schedules/best", workload=workload, target=target, k=k)
    else:
        body = _described(workload) | _named(target) | {"k": k}
        found = yield from exchange.post("/v1/schedules/best", body)
    return read(Best, found)


def source(schedule: str) -> Flow[str]:
    """The generated C of a schedule, byte for byte as it was measured."""
    return (yield from exchange.text(f"/v1/schedules/{schedule}/source"))


def program(schedule: str) -> Flow[Stages]:
    """A schedule's program as written and after each step."""
    return read(Stages, (yield from exchange.get(f"/v1/schedules/{schedule}/program")))


def ops() -> Flow[tuple[Operator, ...]]:
    """The operators of the catalogue, with their sizes and defaults."""
    found = yield from exchange.get("/v1/ops")
    return tuple(read(Operator, item) for item in found["items"])


def targets() -> Flow[tuple[TargetStatus, ...]]:
    """The targets, and how many live workers have each."""
    found = yield from exchange.get("/v1/targets")
    return tuple(read(TargetStatus, item) for item in found["items"])


def workers() -> Flow[tuple[Worker, ...]]:
    """Every worker that ever enrolled."""
    found = yield from exchange.get("/v1/workers")
    return tuple(read(Worker, item) for item in found["items"])


def records(
    workload: str | None = None,
    target: str | None = None,
    job: str | None = None,
    purpose: str | None = None,
    outcome: str | None = None,
    limit: int = 100,
) -> Flow[tuple[Record, ...]]:
    """Up to `limit` records of the tuning log, oldest first."""
    where = {"workload": workload, "target": target, "job": job}
    found = yield from exchange.pages(
        "/v1/records", limit, **where, purpose=purpose, outcome=outcome
    )
    return tuple(read(Record, item) for item in found)
