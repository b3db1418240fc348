"""A check in a process of its own: a driver that aborts takes no more than that with it."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection

from tests.differential.pairs import Pair

#: PoCL aborts here on loops with barriers whose branches meet again: pocl/pocl#2281, open.
KNOWN_ABORT = "Multiple outgoing edges from exit block"


def apart(check: Callable[[Pair], str], pair: Pair) -> str:
    """What `check` says of the pair, or what its process said as it died."""
    with tempfile.TemporaryFile() as said:
        answer, answers = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context("fork").Process(
            target=_child, args=(check, pair, answers, said.fileno())
        )
        child.start()
        answers.close()
        try:
            why: str = answer.recv()
        except EOFError:
            child.join()
            said.seek(0)
            why = f"died with status {child.exitcode}: {said.read().decode(errors='replace')}"
        child.join()
    return why


def _child(check: Callable[[Pair], str], pair: Pair, answers: Connection, errors: int) -> None:
    os.dup2(errors, 2)
    answers.send(check(pair))
