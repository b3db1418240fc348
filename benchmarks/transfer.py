"""How much a cost model knows of a workload, or of a target, that it never saw.

    python -m benchmarks.transfer build FOLDER [--target T ...]
    python -m benchmarks.transfer measure FOLDER [--target T ...]
    python -m benchmarks.transfer evaluate FOLDER [--target T ...] [--seed N]

Points are drawn and built first, in as many processes as there are cores; measuring wants a quiet
core, to which `taskset -c N` keeps it. Both go on where they were interrupted. The first target is
evaluated leaving each workload out; any other as a new target, by models of the first.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import transfer_log, transfer_scores
from benchmarks.transfer_scores import SMALL, Row, Task
from tilewright import output

TARGET = "cpu-avx512-1t"


def main() -> int:
    """Does what the command line asks for."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("what", choices=("build", "measure", "evaluate"))
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--target", action="append")
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    targets = given.target or [TARGET]
    log = given.folder / "log.jsonl"
    if given.what == "evaluate":
        evaluate(log, targets, given.seed)
    elif given.what == "build":
        todo = transfer_log.works(given.folder, targets)
        transfer_log.build_all(todo, transfer_log.free_processes())
    else:
        transfer_log.measure_all(transfer_log.works(given.folder, targets), log)
    return 0


def evaluate(path: Path, targets: Sequence[str], seed: int) -> None:
    """Prints a table for each target."""
    console, log = output.console(), transfer_log.tuning_log(path)
    known = transfer_scores.tasks(log, targets[0])
    show(console, f"{targets[0]}, each workload left out", known,
         transfer_scores.left_out(known, seed))  # fmt: skip
    for name in targets[1:]:
        tasks = transfer_scores.tasks(log, name)
        rows = transfer_scores.new_target(known, tasks, seed)
        show(console, f"{name}, from {targets[0]}, each workload left out", tasks, rows)


def show(console: Console, title: str, tasks: Sequence[Task], rows: Sequence[Row]) -> None:
    """Prints the rows, and their means beside those of the machine model."""
    out = Table(title=title)
    for name in ("workload", "points", "RMSE", "pairwise", "recall@8", "top-1", "top-5",
                 "random 1", "random 5", "trials to 90%"):  # fmt: skip
        out.add_column(name, justify="left" if name == "workload" else "right")
    for row in rows:
        a = row.accuracy
        numbers = (a.rmse, a.pairwise, a.recall_8, a.top_1, a.top_5, *row.random)
        out.add_row(row.task.name, str(a.points), *(f"{n:.3f}" for n in numbers), str(row.trials))
    console.print(out)
    prior = transfer_scores.machine_model(tasks)
    for who, found in (("learned", rows), ("machine model", prior)):
        large = [row for row in found if row.accuracy.points >= SMALL]
        for which, some in (("all", found), (f"of {SMALL} points or more", large)):
            listed = (f"{k} {v:.3g}" for k, v in transfer_scores.means(some).items())
            console.print(f"{who}, {which}: {', '.join(listed)}", soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
