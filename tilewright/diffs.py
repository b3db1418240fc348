"""What each step of a schedule changed: side by side on a terminal, as a unified diff elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from itertools import pairwise, zip_longest

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tilewright.client import Json
from tuner.differences import Hunk, hunks

#: unchanged lines shown around a change
CONTEXT = 3
#: stands for unchanged lines that are left out
GAP = "⋮"
_REMOVED, _ADDED, _SAME = "red", "green", "dim"

#: one line of each side, either of which may have none, and whether they are the same
Row = tuple[str | None, str | None, bool]


def print_diffs(found: Json, console: Console) -> None:
    """The differences between the stages of `found`, a schedule's programs as the service has them.

    On a terminal the two sides stand beside each other; other output is a unified diff.
    """
    if not console.is_terminal:
        console.file.write(unified(found))
        return
    for number, (before, after) in enumerate(pairwise(found["stages"]), 1):
        console.print(Text(f"\n{number}. {after['step']}", style="bold"))
        console.print(side_by_side(before["program"], after["program"]))


def unified(found: Json) -> str:
    """One unified diff for each step, named after the steps."""
    parts = []
    for number, (before, after) in enumerate(pairwise(found["stages"]), 1):
        old, new = before["program"].splitlines(), after["program"].splitlines()
        was = before["step"] or "as written"
        parts += [f"# {number}. {after['step']}"]
        parts += unified_diff(old, new, was, after["step"], n=CONTEXT, lineterm="")
    return "".join(f"{line}\n" for line in parts)


def side_by_side(before: str, after: str) -> Table:
    """Two texts beside each other; what differs is marked, what is far from it left out."""
    table = Table(box=None, pad_edge=False, show_header=False, expand=True)
    table.add_column(ratio=1, overflow="fold")
    table.add_column(width=1)
    table.add_column(ratio=1, overflow="fold")
    for row in near_changes(rows(before, after)):
        left, right, same = row
        table.add_row(
            Text(left or "", style=_SAME if same else _REMOVED),
            _mark(row),
            Text(right or "", style=_SAME if same else _ADDED),
        )
    return table


def _mark(row: Row) -> str:
    """How the sides differ, for whom colours do not tell: gone `<`, new `>`, changed `|`."""
    left, right, same = row
    return " " if same else ">" if left is None else "<" if right is None else "|"


def rows(before: str, after: str) -> list[Row]:
    """All lines of both texts, aligned where they are the same."""
    old = before.splitlines()
    out: list[Row] = []
    done = 0
    for hunk in hunks(before, after):
        out += _same(old[done : hunk.before_line - 1])
        out += _changed(hunk)
        done = hunk.before_line - 1 + len(hunk.removed)
    return [*out, *_same(old[done:])]


def _same(lines: list[str]) -> Iterator[Row]:
    return ((line, line, True) for line in lines)


def _changed(hunk: Hunk) -> Iterator[Row]:
    return ((left, right, False) for left, right in zip_longest(hunk.removed, hunk.added))


def near_changes(aligned: list[Row]) -> Iterator[Row]:
    """The rows that differ and CONTEXT rows around them; one row of GAP for all others in turn."""
    changed = [place for place, row in enumerate(aligned) if not row[2]]
    near = {
        place + offset for place in changed for offset in range(-CONTEXT, CONTEXT + 1)
    }  # fmt: skip
    left_out = False
    for place, row in enumerate(aligned):
        if place in near:
            yield row
        elif not left_out:
            yield GAP, GAP, True
        left_out = place not in near
