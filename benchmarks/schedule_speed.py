"""How fast schedules are applied and programs are lowered and emitted, in this process.

    python -m benchmarks.schedule_speed

A chain of matrix products, each under the same 12 steps; every step is checked as it is applied.
The bars hold for one product; the longer chains show how time grows with steps and statements.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from tilewright import output
from tuner.codegen.c import translate
from tuner.frontends.text import parse
from tuner.ir.nodes import Program
from tuner.lower.pipeline import lower
from tuner.schedule.apply import apply
from tuner.schedule.steps import (
    CacheWrite,
    DecomposeReduction,
    Pack,
    Reorder,
    Schedule,
    Split,
    Unroll,
    Vectorize,
)
from tuner.target import target

#: Seconds that the 12 steps of one product may take, and lowering and emitting it.
APPLY_BAR_S, EMIT_BAR_S = 0.100, 0.015
#: Lengths of the chains that are measured.
PRODUCTS = (1, 2, 4)
ROUNDS = 9
SIZE = 512
TARGET = "cpu-avx512-1t"


@dataclass(frozen=True, slots=True)
class Speed:
    """What was measured of a chain of `products`; seconds are medians."""

    products: int
    steps: int
    apply_s: float
    emit_s: float

    def to_json(self) -> dict[str, Any]:
        """The row as `make bench --json` writes it."""
        return {
            "schedule_of_products": self.products, "steps": self.steps,
            "apply_s": self.apply_s, "emit_s": self.emit_s,
        }  # fmt: skip


def chain(products: int) -> Program:
    """y = x · w0 · w1 …, each product a nest of its own."""
    square = f"f32[{SIZE}, {SIZE}]"
    weights = "".join(f"w{n}: {square}, " for n in range(products))
    lines = [f"def chain(x: {square}, {weights}y: {square}):"]
    lines += [f"    h{n} = buffer({square})" for n in range(products - 1)]
    for n in range(products):
        left, result = "x" if n == 0 else f"h{n - 1}", _result(n, products)
        lines += [
            f"    for i{n}, j{n} in grid({SIZE}, {SIZE}):",
            f"        {result}[i{n}, j{n}] = 0.0",
            f"        for k{n} in range({SIZE}):",
            f"            {result}[i{n}, j{n}] += {left}[i{n}, k{n}] * w{n}[k{n}, j{n}]",
        ]
    return parse("\n".join(lines) + "\n")


def _result(n: int, products: int) -> str:
    return "y" if n == products - 1 else f"h{n}"


def schedule(products: int) -> Schedule:
    """12 steps for each product: a packed operand, a register tile of 8 by 32."""
    return tuple(step for n in range(products) for step in _steps(str(n), _result(n, products)))


def _steps(n: str, result: str) -> Schedule:
    packing = (f"u{n}", f"v{n}", f"p{n}")
    return (
        Pack(f"w{n}", f"wp{n}", "", ("1//32", "0", "1%32"), packing),
        Split(f"i{n}", 8, f"io{n}", f"ii{n}"),
        Split(f"j{n}", 32, f"jo{n}", f"ji{n}"),
        Reorder((f"jo{n}", f"io{n}", f"ii{n}", f"ji{n}")),
        CacheWrite(result, f"io{n}", f"acc{n}", (), (), (f"s{n}", f"t{n}")),
        DecomposeReduction(f"acc{n}", f"ii{n}", (f"z{n}", f"a{n}")),
        Reorder((f"k{n}", f"ii{n}", f"ji{n}")),
        Unroll(f"ii{n}"),
        Vectorize(f"ji{n}"),
        Vectorize(f"a{n}"),
        Vectorize(f"t{n}"),
        Vectorize(f"p{n}"),
    )


def measure(products: int, rounds: int = ROUNDS) -> Speed:
    """Times of a chain of `products`."""
    program, steps, hardware = chain(products), schedule(products), target(TARGET)
    apply_s = statistics.median(_seconds(lambda: apply(program, steps)) for _ in range(rounds))
    scheduled = apply(program, steps)
    emit_s = statistics.median(
        _seconds(lambda: translate(lower(scheduled, hardware), "speed")) for _ in range(rounds)
    )
    return Speed(products, len(steps), apply_s, emit_s)


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def table(speeds: list[Speed]) -> Table:
    """The rows for people."""
    out = Table(title="schedules of matrix products, one core, medians")
    for name in ("products", "steps", "apply ms", "bar", "lower and emit ms", "bar"):
        out.add_column(name, justify="right")
    for speed in speeds:
        one = speed.products == 1
        out.add_row(
            str(speed.products), str(speed.steps), f"{speed.apply_s * 1e3:.1f}",
            f"{APPLY_BAR_S * 1e3:.0f}" if one else "",
            f"{speed.emit_s * 1e3:.1f}", f"{EMIT_BAR_S * 1e3:.0f}" if one else "",
        )  # fmt: skip
    return out


def main() -> list[Speed]:
    """Measure and print; what was measured."""
    speeds = [measure(products) for products in PRODUCTS]
    output.console().print(table(speeds))
    return speeds


if __name__ == "__main__":
    main()
