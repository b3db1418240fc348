"""From a workload to a callable: submit, wait, fetch the C, compile and load it."""

from __future__ import annotations

import hashlib

from tilewright import operations
from tilewright.exchange import Flow, ServiceError, Work
from tilewright.kernels import Kernel
from tilewright.operations import Op, Workload
from tilewright.results import Job, Schedule
from tuner.errors import TilewrightError
from tuner.frontends.catalogue import program_for
from tuner.frontends.text import parse


class TuningFailed(TilewrightError):
    """A job ended without a verified schedule, or none is known."""


def tune(  # noqa: PLR0913 - the fields of a job
    workload: Workload,
    *,
    trials: int = 128,
    seconds: float | None = None,
    target: str | None = None,
    strategy: str = "evolutionary",
    seed: int = 0,
    timeout_s: float | None = None,
    more: bool = False,
) -> Flow[Kernel]:
    """Tune a workload and load its best schedule: a callable on numpy arrays.

    What was tuned before is loaded at once, unless `more` is to be searched for.
    Raises TuningFailed where the job ends without one, WaitTimeout after `timeout_s`.
    """
    asked = yield from operations.submit(
        workload, target=target, trials=trials, seconds=seconds, strategy=strategy, seed=seed,
        more=more,
    )  # fmt: skip
    job = yield from operations.wait(asked.id, timeout_s)
    best = job.workloads[0].best
    if best is None:
        raise TuningFailed(_why(job))
    return (yield from _loaded(workload, best))


def kernel(workload: Workload, target: str | None = None) -> Flow[Kernel]:
    """The best schedule known of a workload, loaded: a callable on numpy arrays.

    Raises TuningFailed where there is none yet.
    """
    found = yield from operations.best(workload, target)
    if not found.items:
        raise TuningFailed("no verified schedule is known yet: tune it")
    return (yield from _loaded(workload, found.items[0]))


def _loaded(workload: Workload, best: Schedule) -> Flow[Kernel]:
    source = yield from operations.source(best.id)
    if hashlib.sha256(source.encode()).hexdigest() != best.source_sha256:
        raise ServiceError(f"the source of {best.id} is not the text that was measured")
    made: Kernel = yield Work(lambda: Kernel(source, _names(workload)))
    return made


def _names(workload: Workload) -> tuple[str, ...]:
    """The parameters' names as the user knows them; for a hash there are none."""
    if isinstance(workload, Op):
        program = program_for(
            workload.name, dict(workload.sizes), workload.dtype, workload.constants
        )
    else:
        text = workload if isinstance(workload, str) else workload.text
        if text.startswith("w1:"):
            return ()
        program = parse(text)
    return tuple(buffer.name for buffer in program.params)


def _why(job: Job) -> str:
    """Why a job has no best schedule, in one line."""
    (workload,) = job.workloads
    counts = ", ".join(f"{count} {outcome}" for outcome, count in workload.failures.items())
    reason = (workload.reason or job.reason or job.state).partition("\n")[0]
    return f"job {job.id} has no verified schedule: {reason}" + (f" ({counts})" if counts else "")
