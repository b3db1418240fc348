"""Keeps builder processes busy ahead of the measuring: requests in, futures out."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import select
import shutil
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tuner.codegen.kernel import GENERATOR
from workers.build import Built
from workers.builder import Refused, item_from_json
from workers.check import CheckSet
from workers.client import Grant, Item
from workers.errors import BuilderDied, NoReference, Stopped, WorkerError
from workers.gate import Gate
from workers.sandbox import STOP_POLL_S

T = TypeVar("T")
#: Some of a grant's candidates, built or refused.
Chunk = list[tuple[Item, Built | Refused]]

#: Wall-clock seconds for one request: generating and compiling a chunk, or making a reference.
REQUEST_LIMIT_S = 180.0
#: Candidates in one translation unit: larger saves little, smaller has the first one ready sooner.
CHUNK = 4
#: An idle-priority builder that takes longer is starved by other programs.
STARVED_S = 30.0
#: Workloads whose data sets are kept.
KEPT_WORKLOADS = 6
#: Free cores used; more builders would only outrun the one measuring core.
MOST_BUILDERS = 4


class Builder:
    """One builder process; started when first asked, and again after it died."""

    def __init__(self, cache: Path, cpus: Sequence[int], idle: bool) -> None:
        self.idle = idle
        words = (str(cache), ",".join(map(str, cpus)), "1" if idle else "0")
        self._argv = [sys.executable, "-m", "workers.builder", *words]
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process's number; None before it is first asked."""
        return self._process.pid if self._process else None

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer. Raises BuilderDied, WorkerError, NoReference (the program is to blame)."""
        if self._closed:
            raise BuilderDied("the building process was closed")
        if self._process is None:
            self._process = self._started()
        try:
            limit_s = STARVED_S if self.idle else REQUEST_LIMIT_S
            request = {"generator": GENERATOR, **request}
            answer = self._exchange(self._process, request, limit_s)
        except BuilderDied:
            self.discard()
            raise
        if "error" in answer:
            raise (NoReference if answer["refused"] else WorkerError)(answer["error"])
        return answer

    def close(self) -> None:
        """End it from another thread: who asks now is told BuilderDied."""
        self._closed = True
        if (process := self._process) is not None:
            process.kill()

    def discard(self) -> None:
        """Reap the process, killed if need be."""
        if (process := self._process) is not None:
            process.kill()
            process.communicate()
            self._process = None

    def _started(self) -> subprocess.Popen[bytes]:
        here = str(Path(__file__).parent.parent)
        path = os.pathsep.join(p for p in (here, os.environ.get("PYTHONPATH")) if p)
        env = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.Popen(
            self._argv, env=env, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    @staticmethod
    def _exchange(
        process: subprocess.Popen[bytes], request: dict[str, Any], limit_s: float
    ) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        deadline = time.monotonic() + limit_s
        said = bytearray()
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            while not said.endswith(b"\n"):
                left = deadline - time.monotonic()
                ready, _, _ = select.select([process.stdout], [], [], max(left, 0))
                chunk = os.read(process.stdout.fileno(), 1 << 16) if ready else b""
                if not chunk:
                    why = "went down" if ready else f"took more than {limit_s:g} s"
                    raise BuilderDied(f"the building process {why}")
                said += chunk
        except BrokenPipeError:
            raise BuilderDied("the building process went down") from None
        answer: dict[str, Any] = json.loads(said)
        return answer


class Pipeline:
    """Builder processes, and the data sets that they made.

    Each free core has one; one more runs on the measuring core `cpu` when nothing is timed there.
    """

    def __init__(self, cache: Path, scratch: Path, cpu: int, free: Sequence[int]) -> None:
        self._scratch = scratch
        self.gate = Gate()
        self._checks: OrderedDict[str, Future[CheckSet]] = OrderedDict()
        others = [one for one in free if one != cpu][:MOST_BUILDERS]
        self._builders = [Builder(cache, others, idle=False) for _ in others]
        self._builders.append(Builder(cache, [cpu], idle=True))
        self._busy = partial(Builder, cache, others or [cpu], idle=False)
        self._closed = False
        self._unused = queue.SimpleQueue[Builder]()
        for builder in self._builders:
            self._unused.put(builder)
        self._own = threading.local()
        self._pool = ThreadPoolExecutor(len(self._builders), "builder", initializer=self._start)

    def _start(self) -> None:
        self._own.builder = self._unused.get()

    def checks(self, grant: Grant) -> Future[CheckSet]:
        """Data sets and reference of the grant's workload, made once."""
        known = self._checks.get(grant.workload)
        if known is None or (known.done() and (known.cancelled() or known.exception())):
            while len(self._checks) >= KEPT_WORKLOADS:
                oldest, _ = self._checks.popitem(last=False)
                shutil.rmtree(self._folder(oldest), ignore_errors=True)
            self._checks[grant.workload] = self._pool.submit(self._prepare, grant)
        self._checks.move_to_end(grant.workload)
        return self._checks[grant.workload]

    def builds(self, grant: Grant) -> list[Future[Chunk]]:
        """The grant's candidates, a chunk a future."""
        chunks = [grant.items[i : i + CHUNK] for i in range(0, len(grant.items), CHUNK)]
        return [self._pool.submit(self._build, grant, chunk) for chunk in chunks]

    def forget(self, grant: Grant) -> None:
        """Remove what was built for the grant."""
        shutil.rmtree(self._folder(grant.lease_id), ignore_errors=True)

    def close(self) -> None:
        """End the builders; requests not begun are cancelled."""
        self._closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        for builder in self._builders:
            builder.close()
        self._pool.shutdown(wait=True)
        for builder in self._builders:
            builder.discard()

    def _folder(self, identity: str) -> Path:
        """What the service calls things never becomes a path."""
        return self._scratch / hashlib.sha256(identity.encode()).hexdigest()[:16]

    def _prepare(self, grant: Grant) -> CheckSet:
        folder = self._folder(grant.workload)
        shutil.rmtree(folder, ignore_errors=True)
        request = {"op": "prepare", "program": grant.program, "folder": str(folder)}
        return CheckSet(**self._ask(request)["checks"])

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """This thread's builder's answer. One that is starved at idle priority is replaced by one
        at normal priority, and asked again."""
        builder: Builder = self._own.builder
        try:
            with self.gate.building():
                return builder.ask(request)
        except BuilderDied:
            if not builder.idle or self._closed:
                raise
        self._own.builder = self._busy()
        self._builders.append(self._own.builder)
        return self._ask(request)

    def _build(self, grant: Grant, items: tuple[Item, ...]) -> Chunk:
        """A chunk that takes its builder down is tried again one by one: one of it is to blame."""
        request = {
            "op": "build", "program": grant.program, "target": grant.target,
            "items": [item.steps for item in items], "folder": str(self._folder(grant.lease_id)),
        }  # fmt: skip
        try:
            made = map(item_from_json, self._ask(request)["items"])
            return list(zip(items, made, strict=True))
        except BuilderDied as died:
            if len(items) == 1:
                return [(items[0], Refused(f"{died} while it made this candidate"))]
            return [pair for item in items for pair in self._build(grant, (item,))]


def in_order_of_arrival(futures: Sequence[Future[T]], stop: Callable[[], bool]) -> Iterator[T]:
    """The futures' results as they come. Raises Stopped, or what a future raises."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, STOP_POLL_S, FIRST_COMPLETED)
        for future in done:
            yield future.result()
        if not done and stop():
            raise Stopped("stopped while candidates were built")
