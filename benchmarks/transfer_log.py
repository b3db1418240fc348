"""The log of the transfer benchmark: points drawn, built, and measured as a worker measures them.

Building needs no quiet machine and is done first, in several processes; what was built and what
was measured is kept in the log's folder, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.transfer_workloads import WORKLOADS, Asked
from tuner.codegen.kernel import GENERATOR
from tuner.ir.show import show
from tuner.log import LoggedWorkload, MemoryLog, steps_key
from tuner.record import Measurement, Outcome, Purpose, Record, Timing
from tuner.schedule.steps import schedule_to_json
from tuner.search.random import Random
from tuner.space.build import space_of
from tuner.target import target
from workers.build import Built
from workers.builder import Maker, Refused, item_from_json
from workers.check import CheckSet
from workers.fingerprint import look, measuring_cpus
from workers.hostlock import HostLock
from workers.measure import Bench, measure
from workers.pipeline import CHUNK
from workers.toolchain import cache_dir, find_compiler, runner

#: Points drawn of each workload; all of a space that has fewer.
POINTS = 200
SEED = 1


@dataclass(frozen=True, slots=True)
class Work:
    """One workload on one target, and where its files lie."""

    asked: Asked
    target: str
    folder: Path

    @property
    def built(self) -> Path:
        """What building answered, JSON."""
        return self.folder / "built.json"


def works(folder: Path, targets: Sequence[str]) -> list[Work]:
    """All workloads on each of the targets."""
    return [
        Work(asked, name, folder.absolute() / "built" / name / asked.name.replace(" ", "-"))
        for name in targets
        for asked in WORKLOADS
    ]


def build_all(todo: Sequence[Work], processes: int) -> None:
    """Draws and builds whatever is not built yet."""
    todo = [work for work in todo if not work.built.exists()]
    with ProcessPoolExecutor(processes) as pool:
        for number, (work, spent) in enumerate(zip(todo, pool.map(_build, todo), strict=True), 1):
            print(f"built {number}/{len(todo)} {work.target} {work.asked.name}: {spent:.0f} s",
                  flush=True)  # fmt: skip


def _build(work: Work) -> float:
    start = time.monotonic()
    workload = work.asked.workload()
    space = space_of(workload.program, target(work.target))
    points = Random(space, np.random.default_rng(SEED)).ask(POINTS, lambda p: np.zeros(len(p)))
    steps = [schedule_to_json(space.schedule(points, row)) for row in range(len(points))]
    compiler = find_compiler()
    maker = Maker(compiler, runner(compiler, cache_dir()))
    common = {"generator": GENERATOR, "program": show(workload.program), "folder": str(work.folder)}
    checks = maker.answer({"op": "prepare", **common})["checks"]
    items = []
    for first in range(0, len(steps), CHUNK):
        chunk = steps[first : first + CHUNK]
        request = {"op": "build", "target": work.target, "items": chunk, **common}
        items += maker.answer(request)["items"]
    found = {"workload": asdict(_logged(work.asked)), "checks": checks, "steps": steps,
             "items": items}  # fmt: skip
    work.built.with_suffix(".part").write_text(json.dumps(found))
    work.built.with_suffix(".part").rename(work.built)
    return time.monotonic() - start


def _logged(asked: Asked) -> LoggedWorkload:
    workload = asked.workload()
    return LoggedWorkload(
        hash=workload.hash, text=show(workload.program), names={"program": asked.name},
        op=workload.op, sizes=dict(workload.sizes), flops=workload.flops,
        io_bytes=workload.io_bytes,
    )  # fmt: skip


def measure_all(todo: Sequence[Work], path: Path) -> None:
    """Measures whatever is built and not in the log at `path` yet, and appends it there."""
    done = {(r.workload, r.target, steps_key(r.steps)) for r in read(path)[1]}
    compiler = find_compiler()
    bench = Bench(runner(compiler, cache_dir()), measuring_cpus(), HostLock(path.parent), GENERATOR)
    fingerprint = look(compiler).fingerprint
    with path.open("a") as log:
        for number, work in enumerate(todo, 1):
            if not work.built.exists():
                continue
            found = json.loads(work.built.read_text())
            log.write(json.dumps({"workload": found["workload"]}) + "\n")
            start, outcomes = time.monotonic(), []
            for record in _measured(work, found, fingerprint, bench, done):
                log.write(json.dumps({"record": asdict(record)}) + "\n")
                log.flush()
                outcomes.append(record.measurement.outcome)
            passed = outcomes.count(Outcome.OK)
            print(f"measured {number}/{len(todo)} {work.target} {work.asked.name}: {passed} of "
                  f"{len(outcomes)} in {time.monotonic() - start:.0f} s", flush=True)  # fmt: skip


def _measured(
    work: Work, found: dict[str, Any], fingerprint: str, bench: Bench,
    done: set[tuple[str, str, str]],
) -> Iterator[Record]:  # fmt: skip
    name, checks, best = found["workload"]["hash"], CheckSet(**found["checks"]), None
    for steps, item in zip(found["steps"], found["items"], strict=True):
        if (name, work.target, steps_key(steps)) in done:
            continue
        one, timing = item_from_json(item), Timing(incumbent_s=best)
        measured = _one(one, checks, timing, bench)
        if measured.median_s is not None:
            best = min(best or measured.median_s, measured.median_s)
        yield Record(
            id=f"{name}/{work.target}/{steps_key(steps)}", workload=name, target=work.target,
            fingerprint=fingerprint, steps=steps, purpose=Purpose.SEARCH, measurement=measured,
        )  # fmt: skip


def _one(one: Built | Refused, checks: CheckSet, timing: Timing, bench: Bench) -> Measurement:
    if isinstance(one, Refused):
        return Measurement(outcome=Outcome.REFUSED, detail=one.detail, generator=bench.generator)
    return measure(one, checks, timing, bench)


def read(path: Path) -> tuple[list[LoggedWorkload], list[Record]]:
    """What the log holds. A last line that was cut short is left out."""
    workloads: dict[str, LoggedWorkload] = {}
    records: list[Record] = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        if "workload" in entry:
            one = LoggedWorkload(**entry["workload"])
            workloads[one.hash] = one
            continue
        told = entry["record"]
        told["measurement"] = Measurement.from_json(told["measurement"])
        records.append(Record(**told | {"purpose": Purpose(told["purpose"])}))
    return list(workloads.values()), records


def tuning_log(path: Path) -> MemoryLog:
    """The log at `path` as the tuner reads one."""
    log = MemoryLog()
    workloads, records = read(path)
    for workload in workloads:
        log.add_workload(workload)
    log.append(records)
    return log


def free_processes() -> int:
    """As many as this process may use cores."""
    return len(os.sched_getaffinity(0))
