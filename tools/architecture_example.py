"""The worked example of docs/architecture.md: one kernel, printed after each stage.

`python -m tools.architecture_example` rewrites that part of the page; a test keeps it fresh.
"""

from __future__ import annotations

from pathlib import Path

from tuner.codegen.kernel import generate
from tuner.frontends.text import parse
from tuner.ir.show import show
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
    step_text,
)
from tuner.target import target
from tuner.workload.workload import admit

PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"
BEGIN, END = "<!-- example: begin -->\n", "<!-- example: end -->\n"

TEXT = """\
def product(a: f32[64, 64], b: f32[64, 64], c: f32[64, 64]):
    for i, j in grid(64, 64):
        c[i, j] = 0.0
        for k in range(64):
            c[i, j] += a[i, k] * b[k, j]
"""

SCHEDULE: Schedule = (
    Pack("b1", "bp", "", ("1//16", "0", "1%16"), ("p0", "p1", "p2")),
    Split("l0", 2, "i0", "i1"),
    Split("l1", 16, "j0", "j1"),
    Reorder(("j0", "i0", "i1", "j1")),
    CacheWrite("b2", "i0", "acc", (0, 1), (), ("s0", "s1")),
    DecomposeReduction("acc", "i1", ("z0", "z1")),
    Reorder(("l2", "i1", "j1")),
    Unroll("i1"),
    Unroll("z0"),
    Unroll("s0"),
    Vectorize("j1"),
    Vectorize("z1"),
    Vectorize("s1"),
    Vectorize("p2"),
)


def example() -> str:
    """The example as Markdown."""
    workload, cpu = admit(parse(TEXT)), target("cpu-avx512-1t")
    scheduled = apply(workload.program, SCHEDULE)
    steps = "\n".join(step_text(step) for step in SCHEDULE)
    source = generate(workload.program, SCHEDULE, cpu)
    # The kernel's name holds the generator's hash; the page is to outlive a change of generator.
    body = source.text[source.text.index("\nint ") + 1 :].replace(source.name, "NAME")
    stages = (
        ("What the user writes", "python", TEXT),
        (f"The workload, `{workload.hash}`", "python", show(workload.program)),
        ("A schedule", "python", steps + "\n"),
        ("`apply`: the scheduled program", "python", show(scheduled)),
        ("`lower`: lanes, registers, flat subscripts", "python", show(lower(scheduled, cpu))),
        ("`emit`: C (header comment and type names left out)", "c", body),
    )
    return "\n".join(f"{title}:\n\n```{kind}\n{text}```\n" for title, kind, text in stages)


def fresh_page() -> str:
    """The page with its example as it is today."""
    page = PAGE.read_text("utf-8")
    before, rest = page.split(BEGIN)
    return before + BEGIN + "\n" + example() + "\n" + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(fresh_page(), "utf-8")
