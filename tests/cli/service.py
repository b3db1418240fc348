"""A service in memory for the command line's tests: answers by method and path."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx

Json = dict[str, Any]
Answer = Json | str | httpx.Response | Callable[[httpx.Request], Any]

HASH = "w1:" + "0" * 32


def best(**changes: Any) -> Json:
    """A best schedule as the service serves it."""
    return {
        "id": "s-1", "workload": HASH, "target": "cpu-avx2-1t", "median_s": 0.003912,
        "ci_s": [0.00388, 0.00395], "gflops": 68.6, "gbytes_per_s": 0.8, "peak_share": 0.764,
        "fingerprint": "f1:x", "steps": {"version": 1, "steps": []}, "verified": True, "ties": [],
        "source_sha256": "0" * 64, "prepare_s": None, "prepared_bytes": 0,
    } | changes  # fmt: skip


def job(state: str = "done", done: int = 8, **changes: Any) -> Json:
    """A job as the service shows it."""
    found = best() if state == "done" else None
    return {
        "id": "j-1", "state": state, "reason": "", "target": "cpu-avx2-1t",
        "budget": {"trials": 8, "seconds": 60.0}, "created_at": "2026-01-01T00:00:00Z",
        "started_at": None, "ended_at": None, "strategy": "evolutionary", "seed": 0,
        "priority": 0, "more": False,
        "peaks": None, "spent": {"search": 1.25, "waiting": 8.0, "timing": 6.5}, "idle_share": 0.04,
        "trials": {"issued": 8, "done": done, "failed": 1},
        "workloads": [
            {
                "hash": HASH, "name": "matmul", "op": "matmul", "sizes": {"m": 4, "n": 4, "k": 4},
                "weight": 1.0, "state": state, "reason": "", "trials": {"done": done, "failed": 1},
                "failures": {"compile_error": 1}, "best": found,
            }
        ],
    } | changes  # fmt: skip


def problem(status: int, detail: str) -> httpx.Response:
    """A refusal in the service's form."""
    return httpx.Response(
        status,
        json={"type": "about:blank", "title": "Refused", "status": status, "detail": detail},
        headers={"content-type": "application/problem+json"},
    )


class Service:
    """Answers requests from a table and remembers them."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        self.answers = answers
        self.requests: list[httpx.Request] = []
        self.transport = httpx.MockTransport(self._handle)

    def body(self, position: int = -1) -> Json:
        """The JSON that came with a request."""
        content: Json = json.loads(self.requests[position].content)
        return content

    def _handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers[f"{request.method} {request.url.path}"]
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, httpx.Response):
            return answer
        if isinstance(answer, str):
            return httpx.Response(200, text=answer)
        return httpx.Response(200, json=answer)
