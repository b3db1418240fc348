"""What every test may use."""

from __future__ import annotations

import os
import shutil

import pytest

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
