"""What commands print: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tilewright import units
from tilewright.client import Json
from tuner.target import SIMULATED_PREFIX

#: columns where the output is no terminal and nothing says how wide it is
PLAIN_WIDTH = 200


def console(stderr: bool = False) -> Console:
    """A console on stdout or stderr that does not squeeze tables into 80 columns of a pipe."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, highlight=False, width=None if stream.isatty() else PLAIN_WIDTH)


def print_json(data: Any) -> None:
    """`data` on stdout, as indented JSON."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows under headings; headings that start with `>` are right-aligned."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        right = heading.startswith(">")
        table.add_column(heading.lstrip(">"), justify="right" if right else "left")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def target_name(name: str) -> str:
    """A target's name, and whether its times are simulated."""
    return f"{name} (simulated)" if name.startswith(SIMULATED_PREFIX) else name


def best_line(best: Json) -> str:
    """How fast a best schedule is, in one line."""
    bounds = f" (95%: {units.interval(best['ci_s'])})" if best["ci_s"] else ""
    share = "" if best["peak_share"] is None else f", {best['peak_share']:.0%} of peak"
    return (
        f"median {units.seconds(best['median_s'])}{bounds}, {units.rate(best)}{share}{_ahead(best)}"
    )


def _ahead(best: Json) -> str:
    """What is done once, and in no median."""
    if not best.get("prepared_bytes"):
        return ""
    cost = f"{units.seconds(best['prepare_s'])}, {best['prepared_bytes'] / 1e6:.3g} MB"
    return f"; constants are packed ahead once: {cost}"


def print_job(job: Json) -> None:
    """A job: its state, then a paragraph for each workload."""
    reason = f" ({_first_line(job['reason'])})" if job["reason"] else ""
    target = f" on {target_name(job['target'])}" if job["target"] else ""
    lines = [f"job {job['id']}: {job['state']}{reason}{target}"]
    for workload in job["workloads"]:
        lines += ["", *workload_lines(workload)]
    if job["spent"]:
        lines += ["", spent_line(job)]
    print_lines(lines)


def spent_line(job: Json) -> str:
    """Where a job's seconds went, the largest account first."""
    accounts = sorted(job["spent"].items(), key=lambda item: -item[1])
    went = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in accounts)
    idle = "" if job["idle_share"] is None else f"; workers idle {job['idle_share']:.0%}"
    return f"time spent: {went}{idle}"


def workload_lines(workload: Json) -> list[str]:
    """A workload of a job: its best schedule, its trials and why some of them failed."""
    trials, best = workload["trials"], workload["best"]
    counts = f"{trials['done']} trials, {trials['failed']} failed"
    why = units.failures(workload["failures"])
    none = f"no verified schedule: {_first_line(workload['reason'] or workload['state'])}"
    return [
        units.label(workload),
        f"  {best_line(best) if best else none}",
        f"  {counts}{f': {why}' if why else ''}",
        *([f"  schedule {best['id']}"] if best else []),
    ]


def _first_line(text: str) -> str:
    """A reason may quote a compiler at length; `--json` has all of it."""
    return text.partition("\n")[0]


def print_lines(lines: Iterable[str]) -> None:
    """Lines on stdout, as they are."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
