"""Pages that a command writes: the command writes its page anew or says whether it is fresh."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def deliver(page: Path, fresh: str, source: str, command: str, arguments: Sequence[str]) -> int:
    """Write `fresh` to `page`; with --check among the `arguments`, return 1 and name the command
    unless the page is what its `source` says today."""
    if "--check" not in arguments:
        page.write_text(fresh, "utf-8")
        return 0
    if page.exists() and page.read_text("utf-8") == fresh:
        return 0
    print(f"{page.name} is not what {source} today: run {command}", file=sys.stderr)
    return 1
