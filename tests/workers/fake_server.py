"""A service for workers in this process, on the standard library alone. It does as it is told:
loses answers after the work is done, refuses, cancels, forgets workers."""

from __future__ import annotations

import json
import threading
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tuner.record import Measurement, Peaks, Timing

TOKEN = "worker-token"
Answer = tuple[int, dict[str, Any] | None]


class FakeService:
    """State, and what to do wrong. `changed` is notified after each request."""

    def __init__(self, beat_s: float = 0.1, lease_s: float = 60.0) -> None:
        self.beat_s, self.lease_s, self.poll_s = beat_s, lease_s, 0.2
        self.url = ""
        self.changed = threading.Condition()
        self.enrolments: list[dict[str, Any]] = []
        self.pending: list[dict[str, Any]] = []
        self.granted: dict[str, dict[str, Any] | None] = {}
        self.results: dict[str, Measurement] = {}
        #: how often each result was handed in and answered with 200
        self.handed_in: Counter[str] = Counter()
        self.peaks: list[Peaks] = []
        self.beats: list[list[str]] = []
        self.cancel: set[str] = set()
        self.drain = False
        #: answers to lose, by call
        self.lose: Counter[str] = Counter()
        #: answers to give in place of the work, by call; each once
        self.refuse: dict[str, list[Answer]] = {}

    def offer(
        self,
        program: str,
        items: Sequence[dict[str, Any]],
        target: str = "cpu-sse2-1t",
        purpose: str = "search",
        timing: Timing | None = None,
        peaks_wanted: bool = False,
    ) -> str:
        """Queue a grant of candidates c0, c1, … (numbered on) with these steps; its lease id."""
        with self.changed:
            first = sum(len(g["items"]) for g in [*self.pending, *self._grants()])
            grant = {
                "lease_id": str(uuid.uuid4()), "fence": 7, "lease_s": self.lease_s, "job": "j1",
                "workload": f"w1:{hash(program):x}", "program": program, "target": target,
                "purpose": purpose, "timing": asdict(timing or Timing()),
                "peaks_wanted": peaks_wanted,
                "items": [
                    {"candidate": f"c{first + i}", "steps": s} for i, s in enumerate(items)
                ],
            }  # fmt: skip
            self.pending.append(grant)
            self.changed.notify_all()
            return str(grant["lease_id"])

    def wait_for(self, condition: Any, timeout_s: float = 30.0) -> None:
        """Wait until `condition()`; fails the test if it does not come."""
        with self.changed:
            assert self.changed.wait_for(condition, timeout_s), "the worker did not get there"

    def _grants(self) -> list[dict[str, Any]]:
        return [g for g in self.granted.values() if g is not None]

    def answer(self, call: str, body: dict[str, Any]) -> Answer:
        """Do what `call` asks for, holding `changed`."""
        if self.refuse.get(call):
            return self.refuse[call].pop(0)
        done: Answer = getattr(self, f"_{call}")(body)
        return done

    def _enrol(self, body: dict[str, Any]) -> Answer:
        self.enrolments.append(body)
        return 201, {
            "worker_id": f"w{len(self.enrolments)}", "lease_s": self.lease_s,
            "beat_s": self.beat_s, "poll_s": self.poll_s,
        }  # fmt: skip

    def _claims(self, body: dict[str, Any]) -> Answer:
        claim = body["claim_id"]
        if self.granted.get(claim) is None:
            self.changed.wait_for(lambda: self.pending, self.poll_s)
            self.granted[claim] = self.pending.pop(0) if self.pending else None
        grant = self.granted[claim]
        return (200, grant) if grant else (204, None)

    def _heartbeats(self, body: dict[str, Any]) -> Answer:
        self.beats.append(body["leases"])
        cancel = [lease for lease in body["leases"] if lease in self.cancel]
        return 200, {"cancel": cancel, "lost": [], "drain": self.drain}

    def _results(self, body: dict[str, Any]) -> Answer:
        assert body["fence"] == 7
        replayed = []
        for one in body["results"]:
            if one["candidate"] in self.results:
                replayed.append(one["candidate"])
            self.results[one["candidate"]] = Measurement.from_json(one["measurement"])
            self.handed_in[one["candidate"]] += 1
        if body["peaks"]:
            self.peaks.append(Peaks(**body["peaks"]))
        return 200, {"accepted": [r["candidate"] for r in body["results"]], "replayed": replayed}


@contextmanager
def serving(service: FakeService) -> Iterator[FakeService]:
    """`service` listening on a port of its own."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            call = self.path.rpartition("/")[2]
            with service.changed:
                if self.headers["Authorization"] == f"Bearer {TOKEN}":
                    status, data = service.answer(call, body)
                else:
                    status, data = 401, {"title": "unauthorized", "detail": "no such token"}
                lost = service.lose[call] > 0
                service.lose[call] -= lost
                service.changed.notify_all()
            if lost:
                self.close_connection = True
                return
            payload = b"" if data is None else json.dumps(data).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
