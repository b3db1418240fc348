"""docs/primitives.md: every primitive as its own docstring tells it, by family.

`python -m tools.primitives_page` writes the page; with `--check`, as `make check` calls it, it only
says whether the page is what the docstrings are today.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields

from tools.generated import DOCS, deliver
from tuner.schedule.apply import REWRITES
from tuner.schedule.steps import STEPS, Step

PAGE = DOCS / "primitives.md"
COMMAND = "python -m tools.primitives_page"

#: The families, in the order of the page, and the order of the primitives in each. A primitive that
#: none of them names comes last, under OTHERS.
FAMILIES: dict[str, tuple[str, ...]] = {
    "Loops": (
        "split", "tile", "fuse", "reorder", "partition", "unroll", "vectorize", "parallel",
        "add_unit_loop",
    ),
    "Placement": ("compute_at", "reverse_compute_at", "inline", "reverse_inline"),
    "Memory": (
        "cache_read", "cache_write", "set_scope", "pack", "transform_layout", "pad",
        "storage_align",
    ),
    "Reduction": ("decompose_reduction", "rfactor"),
    "GPU": ("bind", "cooperative_fetch", "double_buffer"),
    "Hardware": ("tensorize",),
    "Notes": ("annotate", "prefetch"),
}  # fmt: skip
OTHERS = "Others"

INTRODUCTION = """\
# Primitives

A schedule is a tuple of steps; a step is one of these primitives with its arguments, and turns a
program into a program that computes the same. Each is shown with the loops before and after it and
with the conditions under which it is legal; elsewhere it is refused, and the refusal names the
step, what was expected and what was found, and shows the loops. Loops and buffers are addressed by
name; a step that makes new ones names them. As JSON a step is an object with the primitive's name
under `step` and its arguments under their names.

This page is written from the docstrings in `tuner/schedule`.
"""


def page() -> str:
    """The page as the docstrings are today."""
    kinds = {name: kind for name, kind in STEPS.items() if kind in REWRITES}
    sections = []
    for family, names in _families(kinds):
        sections += [f"## {family}\n", *(_primitive(name, kinds[name]) for name in names)]
    return "\n".join((INTRODUCTION, *sections))


def _families(kinds: dict[str, type[Step]]) -> Iterator[tuple[str, list[str]]]:
    """The families that have a primitive, each with its own in the page's order."""
    for family, names in FAMILIES.items():
        if found := [name for name in names if name in kinds]:
            yield family, found
    known = {name for names in FAMILIES.values() for name in names}
    if others := sorted(kinds.keys() - known):
        yield OTHERS, others


def _primitive(name: str, kind: type[Step]) -> str:
    """One primitive: its arguments, then its docstring; indented loops are code in Markdown."""
    arguments = ", ".join(f"{field.name}: {field.type}" for field in fields(kind))
    docstring = inspect.getdoc(REWRITES[kind])
    if not docstring:
        raise ValueError(f"the rewrite of {name} has no docstring to show")
    return f"### {name}\n\n```python\n{name}({arguments})\n```\n\n{docstring}\n"


def main(arguments: Sequence[str]) -> int:
    """Write the page, or say whether it is fresh."""
    return deliver(PAGE, page(), "the docstrings are", COMMAND, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
