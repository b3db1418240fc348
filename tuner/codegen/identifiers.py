"""Names in languages of the C family."""

from __future__ import annotations

from collections.abc import Set

from tuner.ir.nodes import Program
from tuner.ir.visit import loops

_WORDS = """
alignas alignof asm auto bool break case char const constexpr continue default do double else enum
extern false float for goto if inline int long main nullptr register restrict return short signed
sizeof static static_assert struct switch thread_local true typedef typeof typeof_unqual union
unsigned void volatile while linux unix i386
"""
C_WORDS = frozenset(_WORDS.split())


def identifiers(program: Program, keywords: Set[str]) -> dict[str, str]:
    """An identifier for each loop and buffer: its own name wherever `keywords` leave it free."""
    names = [b.name for b in program.buffers()] + [loop.var for loop in loops(program.body)]
    taken = set(names)
    out: dict[str, str] = {}
    for name in names:
        spelled = name
        while (
            spelled in keywords or spelled.startswith("_") or (spelled != name and spelled in taken)
        ):
            spelled = f"v_{spelled}"
        taken.add(spelled)
        out[name] = spelled
    return out
