"""What every test may use."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import db
from tests.postgres import Cluster, find_programs, running_cluster
from workers import build_opencl


def require(*tools: str) -> str:
    """Path of the first of `tools` on this machine; without one the test is skipped.

    Where CI=true the system packages were to be installed, so there it fails.
    """
    for tool in tools:
        if path := shutil.which(tool):
            return path
    reason = f"needs {' or '.join(tools)} on PATH; install the system package that has it"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def require_opencl() -> None:
    """Skips a test where PoCL or pyopencl is missing; in CI it fails instead."""
    if build_opencl.found():
        return
    reason = "needs pyopencl and PoCL (Debian: pocl-opencl-icd)"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A PostgreSQL for the whole session; skips where there is none, in CI it fails instead."""
    programs = find_programs()
    if programs is not None:
        with running_cluster(programs) as cluster:
            yield cluster
        return
    reason = "needs PostgreSQL (Debian: postgresql)"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database with this version's schema and nothing in it, of each kind."""
    if request.param == "postgresql":
        cluster: Cluster = request.getfixturevalue("postgres")
        with cluster.database() as url:
            yield url
        return
    url = f"sqlite:///{tmp_path}/t.db"
    db.migrate(url)
    yield url
