import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.cli.service import Service
from tilewright.cli import run
from tilewright.diffs import CONTEXT, GAP, near_changes, print_diffs, rows
from tuner.differences import hunks

BEFORE = "def f():\n" + "".join(f"    line {n}\n" for n in range(12))
AFTER = BEFORE.replace("line 6\n", "line six\n    and more\n")
FOUND = {
    "names": {},
    "stages": [
        {"step": "", "program": BEFORE},
        {"step": "split(loop='l0')", "program": AFTER},
    ],
}
TEXTS = st.lists(st.sampled_from("abc")).map("".join).map(lambda t: "".join(f"{c}\n" for c in t))


@given(TEXTS, TEXTS)
def test_hunks_turn_one_text_into_the_other(before: str, after: str) -> None:
    lines = before.splitlines()
    for hunk in reversed(hunks(before, after)):
        start = hunk.before_line - 1
        assert tuple(lines[start : start + len(hunk.removed)]) == hunk.removed
        lines[start : start + len(hunk.removed)] = hunk.added
        assert tuple(after.splitlines()[hunk.after_line - 1 :][: len(hunk.added)]) == hunk.added
    assert lines == after.splitlines()


@given(TEXTS, TEXTS)
def test_rows_hold_both_texts_whole(before: str, after: str) -> None:
    aligned = rows(before, after)
    assert [left for left, _, _ in aligned if left is not None] == before.splitlines()
    assert [right for _, right, _ in aligned if right is not None] == after.splitlines()
    assert all((left == right) == same for left, right, same in aligned)


def test_rows_far_from_a_change_are_left_out() -> None:
    shown = [left for left, _, _ in near_changes(rows(BEFORE, AFTER))]
    assert shown[0] == shown[-1] == GAP
    assert len(shown) == 2 + 2 * CONTEXT + 2


def test_elsewhere_than_on_a_terminal_it_is_a_unified_diff(
    capsys: pytest.CaptureFixture[str],
) -> None:
    service = Service({"GET /v1/schedules/s-1/program": FOUND})
    assert run(["show", "s-1", "--diff"], service.transport) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[:3] == ["# 1. split(loop='l0')", "--- as written", "+++ split(loop='l0')"]
    assert [line for line in shown[3:] if line[0] in "+-"] == [
        "-    line 6", "+    line six", "+    and more",
    ]  # fmt: skip


def test_on_a_terminal_the_sides_stand_beside_each_other() -> None:
    screen = io.StringIO()
    print_diffs(FOUND, Console(file=screen, force_terminal=True, width=60, no_color=True))
    lines = screen.getvalue().splitlines()
    assert any(line.split() == ["line", "6", "|", "line", "six"] for line in lines)
    assert any(line.split() == [">", "and", "more"] for line in lines)
    assert not any("line 0" in line for line in lines)


def test_as_json_it_is_the_service_s_answer(capsys: pytest.CaptureFixture[str]) -> None:
    service = Service({"GET /v1/schedules/s-1/program": FOUND})
    assert run(["show", "s-1", "--diff", "--json"], service.transport) == 0
    assert json.loads(capsys.readouterr().out) == FOUND
    assert dict(service.requests[0].url.params) == {"diff": "true"}
