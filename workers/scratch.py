"""Short-lived files of one worker, in memory where the machine has room there."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")
#: Free bytes below which the files go to the temporary folder instead.
LEAST_FREE = 1 << 30
_OURS = re.compile(r"^tilewright-(\d+)-")


@contextmanager
def scratch(places: tuple[Path, ...] = (MEMORY, Path(tempfile.gettempdir()))) -> Iterator[Path]:
    """A new folder in the first of `places` that is writable and has room, gone at the end.

    What workers that were killed left behind is removed first.
    """
    for place in places:
        _sweep(place)
    roomy = [p for p in places if os.access(p, os.W_OK) and shutil.disk_usage(p).free > LEAST_FREE]
    place = (roomy or list(places))[0]
    folder = Path(tempfile.mkdtemp(prefix=f"tilewright-{os.getpid()}-", dir=place))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(place: Path) -> None:
    for folder in place.glob("tilewright-*-*") if place.is_dir() else ():
        owner = _OURS.match(folder.name)
        if owner and not _alive(int(owner.group(1))):
            shutil.rmtree(folder, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
