"""The typed client against the real server: every answer has the form that the client knows."""

import asyncio
from dataclasses import fields

import pytest

import tilewright as tw
from server import record_schemas, schemas
from tests.server.conftest import MATMUL, TARGET, FakeWorker, failed, ok
from tests.server.queued import queue_candidates
from tests.server.test_schedules_api import tuned  # noqa: F401
from tilewright import results

OP = tw.op(MATMUL["op"], **MATMUL["sizes"])


@pytest.fixture
def client(server):
    with tw.Client(server.base, server.secrets["admin"]) as client:
        yield client


def test_jobs_and_their_records(server, worker, client):
    job = client.submit(OP, target=TARGET, trials=7, seed=3)
    assert (job.state, job.budget.trials, job.seed, job.target) == ("queued", 7, 3, TARGET)
    assert job.workloads[0].sizes == MATMUL["sizes"]
    assert client.job(job.id) == job
    assert client.jobs(state="queued") == (job,)
    queue_candidates(server, job.id, "a", "b")
    worker.report(worker.claim().json(), {"a": ok(), "b": failed("timeout")})
    records = client.records(job=job.id, limit=1)
    assert [record.id for record in records] == ["a"]
    (record,) = client.records(job=job.id, outcome="timeout")
    assert record.measurement["detail"] == "as planted"
    client.cancel(job.id)
    assert next(iter(client.events(job.id))).kind == "state"


def test_schedules(client, tuned):  # noqa: F811
    workload, (fast, slow) = tuned
    found = client.best(workload, k=2)
    assert [item.id for item in found.items] == [fast.id, slow.id]
    assert client.best(OP, target=TARGET).items == found.items[:1]
    assert found.items[0].ci_s == fast.ci_s
    assert client.source(fast.id).startswith("int tw_0")
    stages = client.program(fast.id)
    assert stages.names["b0"] == "a"
    assert [stage.step.partition("(")[0] for stage in stages.stages] == ["", "split", "unroll"]


def test_what_there_is(server, client):
    enrolled = FakeWorker(server)
    assert client.ops()[0].name in {op.name for op in client.ops()}
    assert {op.name: op for op in client.ops()}["matmul"].sizes == {"m": None, "n": None, "k": None}
    assert [t.name for t in client.targets() if t.live_workers] == [TARGET]
    (worker,) = client.workers()
    assert (worker.id, worker.live, worker.targets) == (enrolled.id, True, (TARGET,))


def test_the_same_with_asyncio(server, client):
    job = client.submit(OP, target=TARGET)

    async def ask():
        async with tw.AsyncClient(server.base, server.secrets["admin"]) as other:
            found = await asyncio.gather(other.job(job.id), other.ops(), other.targets())
            with pytest.raises(tw.ServiceError) as caught:
                await other.source("s1:none")
            return found, caught.value.status

    found, status = asyncio.run(ask())
    assert found == [job, client.ops(), client.targets()]
    assert status == 404


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (results.Schedule, schemas.ScheduleOut),
        (results.Count, schemas.WorkloadTrials),
        (results.WorkloadStatus, schemas.JobWorkloadOut),
        (results.Budget, schemas.BudgetOut),
        (results.Peaks, schemas.PeaksOut),
        (results.Job, schemas.JobOut),
        (results.Best, schemas.BestOut),
        (results.Stage, schemas.StageOut),
        (results.Stages, schemas.StagesOut),
        (results.Operator, schemas.OperatorOut),
        (results.TargetStatus, schemas.TargetOut),
        (results.Worker, schemas.WorkerOut),
        (results.Record, record_schemas.RecordOut),
    ],
)
def test_every_field_is_one_that_the_service_always_sends(ours, theirs):
    always = {name for name, field in theirs.model_fields.items() if field.is_required()}
    assert {field.name for field in fields(ours)} <= always
