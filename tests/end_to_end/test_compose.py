"""The commands of docker-compose.yml, run by hand on the loopback."""

import contextlib
import functools
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import require
from tests.end_to_end.running import Running, until
from tilewright.client import HttpClient
from tilewright.connection import Connection
from tilewright.demo import free_port
from tilewright.supervisor import tilewright

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def _here(part: str, folder: Path, port: int) -> str:
    """A part of a container's command as it is on this machine."""
    for theirs, ours in (
        ("=/data", f"={folder / 'data'}"),
        (" /data/", f" {folder / 'data'}/"),
        ("/tokens/", f"{folder}/"),
        ("0.0.0.0", "127.0.0.1"),
        ("server:8765", f"127.0.0.1:{port}"),
        ("127.0.0.1:8765", f"127.0.0.1:{port}"),
        ("--port=8765", f"--port={port}"),
    ):
        part = part.replace(theirs, ours)
    return part


def _healthy(role: str, process: subprocess.Popen[bytes], folder: Path, port: int) -> bool:
    log = folder / f"{role}.log"
    assert process.poll() is None, f"{role} has ended: {log.read_text()[-4000:]}"
    kind, *command = COMPOSE["services"][role]["healthcheck"]["test"]
    command = [_here(part, folder, port) for part in command]
    if kind == "CMD-SHELL":
        command = ["sh", "-c", *command]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def test_the_composed_roles_tune_together(tmp_path: Path) -> None:
    require("gcc", "clang")
    require("flock")
    port = free_port()
    with contextlib.ExitStack() as stack:
        for role in ("server", "tuner", "worker"):
            command = [_here(part, tmp_path, port) for part in COMPOSE["services"][role]["command"]]
            log = stack.enter_context((tmp_path / f"{role}.log").open("w"))
            process = stack.enter_context(
                subprocess.Popen(tilewright(*command), stdout=log, stderr=log)
            )
            stack.callback(process.terminate)
            healthy = functools.partial(_healthy, role, process, tmp_path, port)
            until(healthy, f"{role} is healthy")
        token = (tmp_path / "data" / "admin.token").read_text().strip()
        client = stack.enter_context(HttpClient(Connection(f"http://127.0.0.1:{port}", token)))
        body = {
            "workloads": [{"op": "matmul", "sizes": {"m": 16, "n": 16, "k": 16}}],
            "budget": {"trials": 4, "seconds": 100},
        }
        running = Running(process, tmp_path, client)
        job = running.finished(client.post("/v1/jobs", body)["id"])
        assert job["state"] == "done", job["reason"]
        assert job["workloads"][0]["best"]["verified"]


def test_every_container_restarts_and_says_how_it_is() -> None:
    assert set(COMPOSE["services"]) == {"server", "tuner", "worker"}
    for service in COMPOSE["services"].values():
        assert service["restart"] == "unless-stopped"
        assert service["healthcheck"]["test"]


def test_only_the_server_is_published_and_only_on_the_loopback() -> None:
    published = {name: service.get("ports") for name, service in COMPOSE["services"].items()}
    assert published == {"server": ["127.0.0.1:8765:8765"], "tuner": None, "worker": None}


def test_the_worker_sees_no_database() -> None:
    assert COMPOSE["services"]["worker"]["volumes"] == ["tokens:/tokens:ro"]


def test_the_image_has_every_package() -> None:
    copied = {
        word
        for line in (ROOT / "Dockerfile").read_text().splitlines()
        if line.startswith("COPY")
        for word in line.split()[1:-1]
    }
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages - {"tests", "tools", "benchmarks"} <= copied
