"""`tilewright up`: server, tuner and worker as processes on this machine, on SQLite."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from tilewright import deployment
from tilewright.connection import TOKEN_FILE, URL_FILE
from tilewright.supervisor import Role, Supervisor, tilewright
from tuner.errors import TilewrightError

HOST = "127.0.0.1"
#: seconds in which the server has to be ready
READY_S = 30.0
#: seconds between two looks at the roles
TEND_S = 0.2


class UpError(TilewrightError):
    """The service cannot start here."""


def run(data: Path, port: int, say: Callable[[str], None] = print) -> int:
    """Run until SIGINT, SIGTERM or SIGHUP; 0. Raises UpError where the server cannot start."""
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: stopping.set())
    _require_free(port)
    deployment.prepare(data)
    url, url_file = f"http://{HOST}:{port}", data / URL_FILE
    with Supervisor(data / deployment.LOGS, say) as roles:
        try:
            roles.start(
                Role("server", tilewright("server", "--port", str(port), "--data", str(data)))
            )
            _await_ready(roles, url, stopping)
            roles.start(Role("tuner", tilewright("tuner", "--data", str(data))))
            roles.start(_worker(data, url))
            url_file.write_text(url + "\n", encoding="utf-8")
            say(f"server, tuner and worker run at {url}; their logs: {data / deployment.LOGS}")
            say(f"token: {data / TOKEN_FILE}; stop with Ctrl-C")
            while not stopping.wait(TEND_S):
                roles.tend()
            say("stopping")
        finally:
            url_file.unlink(missing_ok=True)
    return 0


def _worker(data: Path, url: str) -> Role:
    """A worker of this machine. Its token is in a file that only this user can read."""
    token = data / deployment.WORKER_TOKEN_FILE
    return Role("worker", tilewright("worker", "--url", url, "--token-file", str(token)))


def _require_free(port: int) -> None:
    """Raises UpError where somebody listens on the port already."""
    try:
        socket.create_server((HOST, port)).close()
    except OSError as error:
        raise UpError(
            f"cannot listen on {HOST}:{port}: {error.strerror}; "
            "choose another port with --port, or stop what runs there"
        ) from error


def _await_ready(roles: Supervisor, url: str, stopping: threading.Event) -> None:
    """Return once the server answers, or somebody wants to stop. Raises UpError where it ends."""
    deadline = time.monotonic() + READY_S
    while not stopping.is_set() and not _ready(url):
        if roles.status("server") is not None or time.monotonic() > deadline:
            raise UpError(f"the server did not start: {roles.last_words('server')}")
        stopping.wait(0.1)


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=2.0, trust_env=False).is_success
    except httpx.HTTPError:
        return False
