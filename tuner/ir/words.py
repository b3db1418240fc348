"""The words of the language: what a program or a step cannot take as a name."""

from __future__ import annotations

from tuner.dtypes import DTYPES
from tuner.ir.nodes import LoopKind
from tuner.ir.ops import OPS

#: Operators that are called by name.
FUNCTIONS = frozenset(name for name, info in OPS.items() if not info.symbol)
LOOP_WORDS = frozenset(kind.value for kind in LoopKind if not kind.is_bound) | {"bound"}
RESERVED = (
    frozenset(DTYPES)
    | FUNCTIONS
    | LOOP_WORDS
    | {"grid", "buffer", "const", "inf", "select", "clamp"}
)
