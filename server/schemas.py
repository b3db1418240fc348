"""The bodies of requests and answers. Times are seconds, moments ISO 8601 in UTC."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Name = Annotated[str, Field(min_length=1, max_length=200)]


class Body(BaseModel):
    """A request's body: a field that nobody knows is an error, not a silence."""

    model_config = ConfigDict(extra="forbid")


class WorkloadIn(Body):
    """An operator with its sizes, or a program text."""

    op: Name | None = None
    sizes: dict[str, int | str] = {}
    dtype: str = "f32"
    constants: list[Name] = Field(
        [], max_length=64,
        description="inputs of the op that are the same in all calls, beside those that are in the "
        "catalogue: what depends on them alone is made once, ahead",
    )  # fmt: skip
    program: str | None = Field(None, min_length=1)
    name: Name | None = Field(None, description="how to show it; the operator's or program's own")

    @model_validator(mode="after")
    def _one_of_two(self) -> WorkloadIn:
        if (self.op is None) == (self.program is None):
            raise ValueError("give either op, with sizes, or program")
        if self.program is not None and self.sizes:
            raise ValueError("sizes belong to an op; a program states its own")
        if self.program is not None and self.constants:
            raise ValueError("constants belong to an op; a program declares its own const[…]")
        return self


class JobWorkloadIn(WorkloadIn):
    """A workload of a job."""

    weight: float = Field(
        1.0, gt=0, le=1e9, allow_inf_nan=False,
        description="how often it occurs in what is to become fast: the job's trials go where they "
        "are expected to save most, weight by weight",
    )  # fmt: skip


class Budget(Body):
    """What a job may spend on all its workloads together."""

    trials: Annotated[int, Field(ge=1, le=100_000)] = 128
    seconds: Annotated[float, Field(gt=0, le=7 * 86400, allow_inf_nan=False)] = 3600.0


class JobIn(Body):
    """A request to tune."""

    workloads: list[JobWorkloadIn] = Field(min_length=1, max_length=64)
    target: Name | None = Field(
        None, description="a target's name; may be omitted while all live machines agree on one"
    )
    budget: Budget = Budget()
    strategy: Literal["evolutionary", "random", "exhaustive"] = "evolutionary"
    seed: int = Field(0, ge=0, lt=2**63)
    priority: int = Field(0, ge=-100, le=100)
    more: bool = Field(
        False,
        description="search on also for workloads that were tuned on this machine before; else "
        "they are answered at once with what was found",
    )
    deadline_s: float = Field(
        86400.0, gt=0, le=30 * 86400, allow_inf_nan=False,
        description="how long it may wait for a machine before it expires",
    )  # fmt: skip


class BestIn(WorkloadIn):
    """A question for the best schedules of a workload."""

    target: Name | None = Field(None, description="may be omitted while there is only one")
    k: Annotated[int, Field(ge=1, le=100)] = 1


class Trials(BaseModel):
    """Search trials: handed to the queue, ended, and ended with anything but ok."""

    issued: int
    done: int
    failed: int


class WorkloadTrials(BaseModel):
    done: int
    failed: int


class PeaksOut(BaseModel):
    """What the machine can do at most, measured beside the candidates."""

    flops_per_s: float
    copy_bytes_per_s: float


class ScheduleOut(BaseModel):
    """A best schedule."""

    id: str
    workload: str
    target: str
    fingerprint: str
    steps: dict[str, Any]
    record: str
    median_s: float
    ci_s: tuple[float, float] | None
    source_sha256: str
    gflops: float
    gbytes_per_s: float
    peak_share: float | None
    verified: bool
    ties: list[str]
    prepare_s: float | None = Field(
        description="of making once, ahead of all calls, what depends on constants alone; in no "
        "median. None where nothing does"
    )
    prepared_bytes: int
    source_url: str
    program_url: str


class JobWorkloadOut(BaseModel):
    """One workload of a job."""

    hash: str
    name: str
    op: str | None
    sizes: dict[str, int | str]
    weight: float
    state: str
    reason: str
    trials: WorkloadTrials
    failures: dict[str, int] = Field(description="outcome -> how many search trials ended so")
    best: ScheduleOut | None


class BudgetOut(BaseModel):
    trials: int
    seconds: float


class JobOut(BaseModel):
    """A job."""

    id: str
    state: str
    reason: str
    cancel_requested: bool
    target: str | None
    fingerprint: str | None
    strategy: str
    seed: int
    priority: int
    more: bool
    budget: BudgetOut
    deadline_at: str
    created_at: str
    started_at: str | None
    ended_at: str | None
    trials: Trials
    peaks: PeaksOut | None
    spent: dict[str, float] = Field(
        description="seconds by account: search, model, waiting and database are the tuner's and "
        "do not overlap; build, check and timing are sums over the job's measurements"
    )
    idle_share: float | None = Field(
        description="share of the job's time in which its workers had nothing of it to do; null "
        "until it has ended"
    )
    workloads: list[JobWorkloadOut]


class JobPage(BaseModel):
    items: list[JobOut]
    next: str | None = Field(description="cursor of the next page; null on the last")


class BestOut(BaseModel):
    workload: str
    items: list[ScheduleOut]


class HunkOut(BaseModel):
    """Lines that a step replaced; one side may be empty. Lines are counted from 1."""

    before_line: int
    removed: list[str]
    after_line: int
    added: list[str]


class StageOut(BaseModel):
    """A program after one step; the first stage is the program itself, with an empty step."""

    step: str
    program: str
    diff: list[HunkOut] | None = Field(
        default=None, description="what differs from the stage before; only with ?diff=true"
    )


class StagesOut(BaseModel):
    names: dict[str, str] = Field(description="canonical name -> the submitter's")
    stages: list[StageOut]


class OperatorOut(BaseModel):
    name: str
    doc: str
    sizes: dict[str, int | str | None] = Field(
        description="default, or the size whose value it is; null where it must be given"
    )
    dtypes: list[str]


class OperatorsOut(BaseModel):
    items: list[OperatorOut]


class TargetOut(BaseModel):
    name: str
    kind: str
    isa: list[str]
    vector_bits: int
    threads: int
    simulated: bool = Field(description="its times come from a machine model")
    live_workers: int


class TargetsOut(BaseModel):
    items: list[TargetOut]


class WorkerOut(BaseModel):
    id: str
    name: str
    fingerprint: str
    facts: dict[str, Any]
    targets: list[str]
    generator: str
    compiler: str
    version: str
    enrolled_at: str
    seen_at: str
    live: bool


class WorkersOut(BaseModel):
    items: list[WorkerOut]


class LoggedWorkloadOut(BaseModel):
    hash: str
    program: str = Field(description="canonical program text")
    names: dict[str, str]
    op: str | None
    sizes: dict[str, int | str]
    flops: int
    io_bytes: int


class WorkloadPage(BaseModel):
    items: list[LoggedWorkloadOut]
    next: str | None


class ProblemOut(BaseModel):
    """An error, as RFC 9457 has it; server.problems lists the types and what else they tell."""

    type: str
    title: str
    status: int
    detail: str


class Health(BaseModel):
    status: str
