"""Keeps builder processes busy ahead of the measuring: requests in, futures out."""

from __future__ import annotations

import hashlib
import json
import os
import select
import shutil
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from workers.build import Built
from workers.builder import Refused, item_from_json
from workers.check import CheckSet
from workers.client import Grant
from workers.errors import BuilderDied, NoReference, WorkerError

#: Wall-clock seconds for one request: generating and compiling a chunk, or making a reference.
REQUEST_LIMIT_S = 180.0
#: Candidates in one translation unit: larger saves little, smaller has the first one ready sooner.
CHUNK = 8
#: Workloads whose data sets are kept.
KEPT_WORKLOADS = 6
#: More builders than this outrun one measuring core anyway.
MOST_BUILDERS = 4


class Builder:
    """One builder process; started when first asked, and again after it died."""

    def __init__(self, cache: Path, cpus: Sequence[int], turns: bool) -> None:
        words = (str(cache), ",".join(map(str, cpus)), "1" if turns else "0")
        self._argv = [sys.executable, "-m", "workers.builder", *words]
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def ask(self, request: dict[str, Any], limit_s: float = REQUEST_LIMIT_S) -> dict[str, Any]:
        """The answer. Raises BuilderDied, WorkerError, NoReference (the program is to blame)."""
        if self._closed:
            raise BuilderDied("the building process was closed")
        if self._process is None:
            self._process = self._started()
        try:
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
    """Builder processes on the cores that timing leaves free, and the data sets they made."""

    def __init__(self, cache: Path, scratch: Path, cpus: Sequence[int], turns: bool) -> None:
        self._scratch = scratch
        self._checks: OrderedDict[str, Future[CheckSet]] = OrderedDict()
        self._builders: list[Builder] = []
        self._own = threading.local()

        def start() -> None:
            self._own.builder = Builder(cache, cpus, turns)
            self._builders.append(self._own.builder)

        count = 1 if turns else min(len(cpus), MOST_BUILDERS)
        self._pool = ThreadPoolExecutor(count, "builder", initializer=start)

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

    def builds(self, grant: Grant) -> list[Future[list[Built | Refused]]]:
        """The grant's candidates in order, a chunk a future."""
        steps = [item.steps for item in grant.items]
        chunks = [steps[i : i + CHUNK] for i in range(0, len(steps), CHUNK)]
        return [self._pool.submit(self._build, grant, chunk) for chunk in chunks]

    def forget(self, grant: Grant) -> None:
        """Remove what was built for the grant."""
        shutil.rmtree(self._folder(grant.lease_id), ignore_errors=True)

    def close(self) -> None:
        """End the builders; requests not begun are cancelled."""
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
        return CheckSet(**self._own.builder.ask(request)["checks"])

    def _build(self, grant: Grant, steps: list[dict[str, Any]]) -> list[Built | Refused]:
        """A chunk that takes its builder down is tried again one by one: one of it is to blame."""
        request = {
            "op": "build", "program": grant.program, "target": grant.target, "items": steps,
            "folder": str(self._folder(grant.lease_id)),
        }  # fmt: skip
        try:
            return [item_from_json(item) for item in self._own.builder.ask(request)["items"]]
        except BuilderDied as died:
            if len(steps) == 1:
                return [Refused(f"{died} while it made this candidate")]
            return [one for step in steps for one in self._build(grant, [step])]
