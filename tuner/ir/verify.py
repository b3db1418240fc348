"""What is legal before lowering."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.ir.nodes import Program

Places = Mapping[int, tuple[int, int]]


def verify(program: Program, places: Places | None = None) -> None:
    pass
