"""docs/features.md: every feature with its unit and meaning, as tuner.features.names has them.

`python -m tools.features_page` writes the page; with `--check`, as `make check` calls it, it only
says whether the page is what the table is today.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from tools.generated import DOCS, deliver
from tuner.features.names import FEATURE_VERSION, FEATURES, GROUPS

PAGE = DOCS / "features.md"
COMMAND = "python -m tools.features_page"

INTRODUCTION = f"""\
# Features

What a cost model knows of a point: {len(FEATURES)} numbers of the scheduled program before
lowering, in the order of the columns, version {FEATURE_VERSION}. They come from replaying the steps
with sizes that are arrays, for all points of one structure at once, and equal those of the program
that is scheduled point by point. A nest is one statement and the loops around it. The main nest is
the one with most arithmetic; where none has any, the one with most instructions. Issued is what the
loops count: iterations that guards skip are issued too. None is a logarithm: trees only compare.
Beside totals stand ratios, and the target's own sizes are columns, so that what is learned of one
size or machine says something of another.

Tests hold that operations, loads, stores, runs and bytes are what an interpreter counts: exactly
where all tiles are whole, within a tenth where some are ragged.

This page is written from `tuner/features/names.py`.
"""


def page() -> str:
    """The page as the table is today."""
    return "\n".join((INTRODUCTION, *_sections()))


def _sections() -> Iterator[str]:
    for title, group in GROUPS.items():
        rows = (f"| `{name}` | {about.unit} | {about.meaning} |" for name, about in group.items())
        yield "\n".join(
            (f"## {title}\n", "| feature | unit | what it is |", "|---|---|---|", *rows, "")
        )


def main(arguments: Sequence[str]) -> int:
    """Write the page, or say whether it is fresh."""
    return deliver(PAGE, page(), "the table of features is", COMMAND, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
