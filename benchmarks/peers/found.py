"""A local folder with what slow tuners found, each with the date when it was found.

FOLDER/PEER/WORKLOAD-THREADSt/ holds about.json and what the peer loads; it is written aside and
renamed, so that a run that was cut short leaves nothing behind.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

#: ignored by git
FOLDER = Path("bench-peers-data")
ABOUT, LIBRARY, KERNEL, CURVE = "about.json", "library.so", "kernel.c", "curve.jsonl"


def place(folder: Path, peer: str, workload: str, threads: int) -> Path:
    """Where it is kept, whether there is something or not."""
    return folder / peer / f"{workload}-{threads}t"


def about(folder: Path, peer: str, workload: str, threads: int) -> dict[str, Any] | None:
    """What is known of what was found; None where there is nothing."""
    path = place(folder, peer, workload, threads) / ABOUT
    if not path.exists():
        return None
    told: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return told


@contextmanager
def storing(folder: Path, peer: str, workload: str, threads: int) -> Iterator[Path]:
    """An empty folder to write to, which replaces what was kept if nothing is raised."""
    to = place(folder, peer, workload, threads)
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=".new-") as name:
        made = Path(name) / "made"
        made.mkdir()
        yield made
        shutil.rmtree(to, ignore_errors=True)
        made.replace(to)


def write_about(made: Path, told: dict[str, Any]) -> None:
    """Note `told` and the date."""
    date = datetime.now(UTC).isoformat(timespec="seconds")
    (made / ABOUT).write_text(json.dumps({"found_at": date} | told) + "\n", "utf-8")
