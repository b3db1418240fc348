"""`make bench-peers`: what Tilewright serves beside what users would pick instead.

    python -m benchmarks.peers [--only W1,W11] [--threads 1,2] [--trials N] [--skip PEER,…]
                               [--python PEER=INTERPRETER] [--stored] [--again] [--folder FOLDER]

Peers come with `pip install 'tilewright[peers]'`, or live in interpreters of their own that have
numpy and the peer: --python torch=PATH, also for onnxruntime, tvm and halide. One that cannot be
used is skipped with its reason. What slow tuners find is kept in FOLDER with its date and timed
again in each run: Tilewright's service tunes a workload with N trials, TVM's MetaSchedule with 256.
Writes JSON lines and a picture into FOLDER/runs, prints a table for each number of threads.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from benchmarks.peers import found, plot, serving, times
from benchmarks.peers.catalogue import WORKLOADS, PeerWorkload
from benchmarks.peers.setup import PEERS, TVM_TRIALS, Setup, cpus, interpreter, measure, names_of
from benchmarks.peers.times import OURS, Row
from tilewright import output


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", type=names_of(WORKLOADS), default=list(WORKLOADS))
    parser.add_argument("--threads", type=names_of(("1", "2")), default=["1", "2"])
    parser.add_argument("--skip", type=names_of(PEERS), default=[])
    parser.add_argument("--trials", type=int, default=512, help="of a job of ours, at most")
    parser.add_argument("--python", type=interpreter, action="append", default=[])
    parser.add_argument("--stored", action="store_true", help="do not start TVM's tuning")
    parser.add_argument("--again", action="store_true", help="tune ours again")
    parser.add_argument("--folder", type=Path, default=found.FOLDER)
    return parser.parse_args(words)


def tune(
    setup: Setup,
    wanted: Sequence[tuple[PeerWorkload, int]],
    given: argparse.Namespace,
    console: Console,
) -> None:
    """Tune what is not stored yet."""
    ours = [
        (work, threads)
        for work, threads in wanted
        if given.again or found.about(setup.folder, OURS, work.name, threads) is None
    ]
    if ours and OURS not in given.skip:
        serving.tune(ours, given.trials, setup.folder, console)
    if given.stored or "tvm" in given.skip:
        return
    for work, threads in wanted:
        console.print(f"{work.name}: TVM tunes with {TVM_TRIALS} trials, unless it has")
        if why := setup.tune_tvm(work, threads):
            console.print(f"{work.name}: TVM {why}")


def main() -> int:
    """Tune what is missing, measure, report; 0."""
    given = arguments()
    console = output.console()
    setup = Setup(dict(given.python), given.folder)
    works = [WORKLOADS[name] for name in given.only]
    counts = [int(threads) for threads in given.threads]
    cpus(max(counts))
    tune(setup, [(work, threads) for threads in counts for work in works], given, console)
    names = tuple(name for name in PEERS if name not in given.skip)
    path = given.folder / "runs" / f"{datetime.now(UTC):%Y%m%dT%H%M%S}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)

    def seen(row: Row) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row.to_json()) + "\n")
        ratio = "no ratio" if row.ratio is None else f"{row.best_peer} / ours = {row.ratio:.2f}"
        console.print(f"{row.work.name}, {row.threads}t: {ratio}")

    rows: list[Row] = []
    for threads in counts:
        came = measure(works, threads, names, setup.start, seen)
        rows += came
        print(f"\n{threads} thread{'s' * (threads > 1)}, ms (share of the limit)\n")
        print("\n".join(times.table(came)) + "\n", flush=True)
    path.with_suffix(".svg").write_text(plot.svg(rows), "utf-8")
    print(f"written: {path} and {path.with_suffix('.svg')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
