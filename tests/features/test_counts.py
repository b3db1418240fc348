"""What features say is what an interpreter counts: exactly where all tiles are whole, within a
tenth where guards cut some, and how much those let pass exactly always."""

import numpy as np
import pytest

from tests.features.concrete import HARDWARE, ROUND, WORKLOADS, draws
from tests.features.counting import LINE, Statement, run
from tuner.features.nest import Nest, kernel_of
from tuner.features.work import work_of


def counted(statement: Statement, width: int) -> dict[str, int]:
    """What one statement does, counted."""
    write, *reads = statement.accesses
    loaded = [*reads, *([write] if statement.reduces else [])]
    at = statement.serial
    return {
        "iterations": statement.runs.size,
        "executed": int(statement.runs.sum()),
        "operations": statement.runs.size * statement.operations,
        "bodies": statement.started(at),
        "loop iterations": statement.loop_iterations(),
        "loads": sum(statement.instructions(access, width) for access in loaded),
        "stores": statement.instructions(write, width),
        "bytes": statement.bytes(0),
        "bytes of a body": statement.bytes(at),
        **{f"bytes of {n} loops": statement.bytes(max(at - n, 0)) for n in (1, 2, 3)},
    }


def featured(kernel, nest: Nest, hardware) -> dict[str, float]:
    """The same from the features."""
    work = work_of(kernel, nest, hardware)
    memory = work.memory
    found = {
        "iterations": work.iterations,
        "executed": work.iterations * work.executed,
        "operations": work.flops,
        "bodies": work.bodies,
        "loop iterations": work.loop_iterations,
        "loads": work.bodies * work.moves.loads,
        "stores": work.bodies * work.moves.stores,
        "bytes": memory.bytes,
        "bytes of a body": memory.body_bytes,
        **{f"bytes of {n} loops": size for n, size in enumerate(memory.footprints, start=1)},
    }
    return {name: float(np.ravel(value)[0]) for name, value in found.items()}


def divided(nest: Nest) -> bool:
    """Whether a subscript is the quotient of a loop: its box may have holes."""
    return any(np.any(s % 1) for a in nest.accesses() for d in a.dims for s in d.steps.values())


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_features_are_what_an_interpreter_counts(name):
    program, whole = WORKLOADS[name], False
    for hardware in HARDWARE:
        for space, points, scheduled in draws(program, hardware, 1):
            for row, one in enumerate(scheduled):
                kernel = kernel_of(one)
                for nest, statement in zip(kernel.nests, run(one, hardware), strict=True):
                    item = kernel.shapes[nest.write.buffer].item
                    counts = counted(statement, hardware.vector_bits // 8 // item)
                    found = featured(kernel, nest, hardware)
                    where = f"{hardware.name} {space.values(points, row)} {nest.write.buffer}"
                    whole |= statement.whole
                    compare(counts, found, statement, divided(nest), where)
    assert whole or name not in ROUND


def compare(counts, found, statement: Statement, holes: bool, where: str) -> None:
    for what, count in counts.items():
        if statement.whole:
            assert found[what] == count, f"{what}: {where}"
        elif what == "executed":
            assert found[what] == pytest.approx(count, rel=1e-12), f"{what}: {where}"
        elif not (holes and ("bytes" in what or what == "loads")):
            slack = LINE * len(statement.accesses) if "bytes" in what else 0
            assert abs(found[what] - count) <= 0.1 * count + slack, f"{what}: {where}"
