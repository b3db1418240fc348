"""Builder processes: what they answer, and what happens when one goes down."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.workers.kernels import MATMUL
from tuner.codegen.kernel import generate
from tuner.ir.show import show
from tuner.record import Purpose, Timing
from tuner.schedule.steps import Split, schedule_to_json
from tuner.target import target
from workers import pipeline as module
from workers.build import Built
from workers.builder import Refused
from workers.client import Grant, Item
from workers.errors import BuilderDied, NoReference, Stopped, WorkerError
from workers.pipeline import Builder, Pipeline, in_order_of_arrival
from workers.sandbox import never
from workers.toolchain import Compiler

SPLIT = (Split("l0", 8, "i0", "i1"),)


def grant(*steps: dict[str, Any], program: str = show(MATMUL), lease: str = "../l") -> Grant:
    items = tuple(Item(f"c{i}", one) for i, one in enumerate(steps))
    return Grant(
        lease_id=lease, fence=1, workload="w1:0", program=program, target="cpu-sse2-1t",
        purpose=Purpose.SEARCH, timing=Timing(), peaks_wanted=False, items=items,
    )  # fmt: skip


@pytest.fixture
def pipeline(compiler: Compiler, cache: Path, tmp_path: Path) -> Iterator[Pipeline]:
    made = Pipeline(cache, tmp_path / "scratch", max(os.sched_getaffinity(0)), [])
    yield made
    made.close()


def test_candidates_come_built_or_refused(pipeline: Pipeline, tmp_path: Path) -> None:
    steps = [schedule_to_json(()), {"version": 99}, schedule_to_json(SPLIT)]
    wanted = grant(*steps, *steps)  # more than one chunk
    made = [pair for chunk in in_order_of_arrival(pipeline.builds(wanted), never) for pair in chunk]
    by_id = {item.candidate: one for item, one in made}
    assert isinstance(by_id["c1"], Refused)
    split = by_id["c2"]
    assert isinstance(split, Built)
    assert split.error == ""
    assert split.source_sha256 == generate(MATMUL, SPLIT, target("cpu-sse2-1t")).sha256
    library = Path(split.library)
    assert library.is_relative_to(tmp_path / "scratch")
    pipeline.forget(wanted)
    assert not library.exists()


def test_data_sets_are_made_once_and_the_oldest_forgotten(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = pipeline.checks(grant())
    assert pipeline.checks(grant()) is first
    spec = Path(first.result(60).spec)
    assert spec.exists()
    monkeypatch.setattr(module, "KEPT_WORKLOADS", 1)
    other = grant()
    object.__setattr__(other, "workload", "w1:1")
    assert pipeline.checks(other).result(60).spec != str(spec)
    assert not spec.exists()


def test_a_program_that_cannot_be_read_has_no_reference(pipeline: Pipeline) -> None:
    with pytest.raises(NoReference):
        pipeline.checks(grant(program="def program(:")).result(60)


def test_a_builder_that_dies_is_started_again(
    compiler: Compiler, cache: Path, tmp_path: Path
) -> None:
    builder = Builder(cache, sorted(os.sched_getaffinity(0)), idle=False)
    request = {
        "op": "build", "program": show(MATMUL), "target": "cpu-sse2-1t",
        "items": [schedule_to_json(())], "folder": str(tmp_path),
    }  # fmt: skip
    assert len(builder.ask(request)["items"]) == 1
    assert builder.pid is not None
    with pytest.raises(WorkerError, match="restart it"):
        builder.ask({**request, "generator": "g1:another"})
    os.kill(builder.pid, signal.SIGKILL)
    with pytest.raises(BuilderDied, match="went down"):
        builder.ask(request)
    assert len(builder.ask(request)["items"]) == 1
    builder.close()
    with pytest.raises(BuilderDied, match="closed"):
        builder.ask(request)
    builder.discard()


def test_a_starved_builder_is_replaced(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no time at all, the idle builder cannot answer; the one in its place can."""
    monkeypatch.setattr(module, "STARVED_S", 0.0)
    (chunk,) = in_order_of_arrival(pipeline.builds(grant(schedule_to_json(()))), never)
    assert isinstance(chunk[0][1], Built)


def test_one_that_takes_its_builder_down_is_refused_alone(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Builder.ask

    def dies(self: Builder, request: dict[str, Any]) -> dict[str, Any]:
        if schedule_to_json(SPLIT) in request["items"]:
            raise BuilderDied("the building process went down")
        return ask(self, request)

    monkeypatch.setattr(Builder, "ask", dies)
    steps = [schedule_to_json(()), schedule_to_json(SPLIT)]
    (chunk,) = in_order_of_arrival(pipeline.builds(grant(*steps)), never)
    assert isinstance(chunk[0][1], Built)
    assert chunk[1][1] == Refused("the building process went down while it made this candidate")


def test_waiting_can_be_stopped(pipeline: Pipeline) -> None:
    slow = pipeline.checks(grant())
    with pytest.raises(Stopped):
        list(in_order_of_arrival([slow], lambda: True))
