"""A real server on a socket of its own, and a worker that reports whatever a test wants."""

import shutil
import ssl
import threading
import time
from contextlib import contextmanager

import httpx
import pytest
import uvicorn

import db
from db import tokens
from db.tokens import TokenRole
from server import Settings, create_app
from tuner.codegen.kernel import GENERATOR
from tuner.record import Measurement, Outcome

TARGET = "cpu-avx2-1t"
MATMUL = {"op": "matmul", "sizes": {"m": 4, "n": 4, "k": 4}}
#: Spans short enough that tests can wait for them; leases are as long as in earnest unless a
#: test makes them short.
FAST = {"poll_s": 0.2, "reap_s": 0.05, "tick_s": 0.01}
#: Made once: reading the system's certificates, which no test needs, takes longer than a test.
_TLS = ssl.create_default_context()


class Clock:
    """The wall clock, which a test may put forward."""

    def __init__(self):
        self.ahead_s = 0.0

    def __call__(self):
        return time.time() + self.ahead_s


class Server:
    """A running server with its database, a client for each role, and a clock."""

    def __init__(self, url, base, clock, secrets):
        self.database_url, self.base, self.clock, self.secrets = url, base, clock, secrets
        self.clients = {role: self.client(secret) for role, secret in secrets.items()}
        self.admin = self.clients["admin"]

    def client(self, secret=None):
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        return httpx.Client(base_url=self.base, headers=headers, timeout=20, verify=_TLS)

    def submit(self, *workloads, **fields):
        body = {"workloads": list(workloads) or [MATMUL], "target": TARGET, **fields}
        answer = self.admin.post("/v1/jobs", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def job(self, id):
        return self.admin.get(f"/v1/jobs/{id}").json()


@contextmanager
def serving(folder, pristine, **changes):
    """A Server on `folder`'s database, which is made if it is not there."""
    path, secrets = pristine
    if not (folder / "t.db").exists():
        shutil.copy(path, folder / "t.db")
    with serving_at(f"sqlite:///{folder}/t.db", secrets, **changes) as running:
        yield running


@contextmanager
def serving_at(url, secrets, **changes):
    """A Server on a database that has these tokens."""
    clock = Clock()
    app = create_app(Settings(database_url=url, **{**FAST, **changes}), clock)
    config = uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until = time.monotonic() + 20
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            assert time.monotonic() < until
            time.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        running = Server(url, f"http://127.0.0.1:{port}", clock, secrets)
        yield running
        for client in running.clients.values():
            client.close()
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="session")
def pristine(tmp_path_factory):
    """A database with a token for each role, to copy; and the tokens."""
    path = tmp_path_factory.mktemp("pristine") / "t.db"
    db.migrate(f"sqlite:///{path}")
    return path, make_tokens(f"sqlite:///{path}")


def make_tokens(url):
    """Role -> a new token of it."""
    database = db.open(url)
    with database.write() as session:
        secrets = {str(r): tokens.create(session, f"test {r}", r, 0.0) for r in TokenRole}
    database.close()
    return secrets


@pytest.fixture
def server(tmp_path, pristine):
    with serving(tmp_path, pristine) as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory, pristine):
    """A Server for tests that leave no job behind."""
    with serving(tmp_path_factory.mktemp("shared"), pristine) as running:
        yield running


class FakeWorker:
    """Speaks the workers' protocol and measures nothing."""

    def __init__(self, server, name="box", fingerprint="f1:x", targets=(TARGET,)):
        self.http = server.clients["work"]
        self.targets = list(targets)
        self.claims = 0
        self.introduction = {
            "name": name, "fingerprint": fingerprint, "facts": {"cores": 2},
            "targets": self.targets, "generator": GENERATOR, "compiler": "gcc 12", "version": "0",
        }  # fmt: skip
        answer = self.http.post("/v1/worker/enrol", json=self.introduction)
        assert answer.status_code == 201, answer.text
        self.id = answer.json()["worker_id"]

    def claim(self, claim_id=None, max_items=16):
        self.claims += 1
        body = {
            "worker_id": self.id, "claim_id": claim_id or f"{self.id}-{self.claims}",
            "targets": self.targets, "max_items": max_items,
        }  # fmt: skip
        return self.http.post("/v1/worker/claims", json=body)

    def beat(self, *leases):
        body = {"worker_id": self.id, "leases": list(leases)}
        return self.http.post("/v1/worker/heartbeats", json=body)

    def report(self, grant, results, **changes):
        body = {
            "worker_id": self.id, "lease_id": grant["lease_id"], "fence": grant["fence"],
            "results": [{"candidate": c, "measurement": m} for c, m in results.items()],
            "peaks": {"flops_per_s": 1e11, "copy_bytes_per_s": 1e10}, **changes,
        }  # fmt: skip
        return self.http.post("/v1/worker/results", json=body)


def ok(median=1e-3, samples=3):
    return Measurement(
        outcome=Outcome.OK, samples_s=(median,) * samples, calls_per_sample=1, median_s=median,
        source_sha256="0" * 64, generator=GENERATOR, compiler="gcc 12", error_ratio=0.0,
    ).to_json()  # fmt: skip


def failed(outcome):
    return Measurement(
        outcome=Outcome(outcome), detail="as planted", generator=GENERATOR, compiler="gcc 12"
    ).to_json()


@pytest.fixture
def worker(server):
    return FakeWorker(server)
