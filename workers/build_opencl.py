"""OpenCL candidates: what their runner needs, as a file. Their driver compiles them there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tuner.codegen.source import Source
from workers.build import Built

#: How the runner is started. -P: it lies beside modules with names that are anybody's.
RUNNER = (sys.executable, "-P", str(Path(__file__).with_name("run_opencl.py")))
#: Seconds for looking for a device.
PROBE_LIMIT_S = 30.0


def build(sources: Sequence[Source], folder: Path) -> list[Built]:
    """A plan in `folder` for each source, in their order."""
    compiler = found().get("version", "OpenCL")
    return [_planned(source, compiler, folder) for source in sources]


def _planned(source: Source, compiler: str, folder: Path) -> Built:
    path = (folder / f"{source.name}.json").absolute()
    kernels = [
        {"name": k.name, "arguments": k.arguments, "grid": k.grid, "block": k.block}
        for k in source.kernels
    ]
    scratch = {b.name: b.bytes for b in source.scratch}
    path.write_text(json.dumps({"text": source.text, "kernels": kernels, "scratch": scratch}))
    return Built(
        name=source.name, source_sha256=source.sha256, workspace_bytes=source.workspace_bytes,
        threads=source.threads, flags="", compiler=compiler, library=str(path), error="",
        build_s=0.0, language="opencl",
    )  # fmt: skip


@cache
def found() -> dict[str, Any]:
    """Facts of this machine's OpenCL device; empty where there is none. Asked in a process of its
    own, since that loads whatever drivers are installed."""
    try:
        said = subprocess.run(
            [*RUNNER, "probe"], capture_output=True, text=True, check=False, timeout=PROBE_LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    facts: dict[str, Any] = json.loads(said.stdout) if said.returncode == 0 else {}
    return facts
