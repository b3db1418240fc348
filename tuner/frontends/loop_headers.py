"""The first line of a loop: `for i, j in grid(4, 8)`, `for k in range(8, notes=("streams",))`."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tuner.frontends.expressions import refused
from tuner.frontends.limits import check_name
from tuner.frontends.literals import extent, place
from tuner.ir.nodes import AXES, LoopKind
from tuner.ir.notes import MAX_NOTES, is_note
from tuner.ir.words import LOOP_WORDS

_WORDS = LOOP_WORDS | {"grid"}
_FORMS = "range(n), grid(n, m), unrolled(n), vectorized(n), parallel(n) or bound(n, axis)"


@dataclass(frozen=True, slots=True)
class LoopHeader:
    """Loops around each other, outermost first, and the notes on the one of a plain loop."""

    names: list[str]
    extents: list[int]
    kind: LoopKind
    notes: tuple[str, ...]


def loop_header(node: ast.For) -> LoopHeader:
    """What the header says. Raises SyntaxRefused."""
    match node.iter:
        case ast.Call(func=ast.Name(id=word), args=args, keywords=keywords) if word in _WORDS:
            pass
        case _:
            raise refused(f"a loop is over {_FORMS}", node.iter)
    kind = LoopKind.SERIAL
    if word == "bound":
        args, kind = _bound(args, node.iter)
    elif word != "grid":
        kind = LoopKind(word)
    targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
    count = len(args) if word == "grid" else 1
    if not args or len(args) != count or len(targets) != count:
        raise refused(
            f"{word}(...) with {len(args)} operands for {len(targets)} loop names", node.iter
        )
    names: list[str] = []
    for target in targets:
        if not isinstance(target, ast.Name):
            raise refused("a loop variable must be a plain name", target)
        check_name(target.id, *place(target))
        names.append(target.id)
    notes = _notes(keywords, word, node.iter)
    return LoopHeader(names, [extent(a, "a loop's extent") for a in args], kind, notes)


def _bound(args: list[ast.expr], node: ast.AST) -> tuple[list[ast.expr], LoopKind]:
    """The extent and the axis of `bound(16, "threadIdx.x")`."""
    match args:
        case [size, ast.Constant(value=str(axis))] if axis in AXES:
            return [size], AXES[axis]
    raise refused(f'write bound(n, "threadIdx.x"); the axes are: {", ".join(AXES)}', node)


def _notes(keywords: list[ast.keyword], word: str, node: ast.expr) -> tuple[str, ...]:
    match keywords:
        case []:
            return ()
        case [ast.keyword(arg="notes", value=ast.Tuple(elts=elts))] if (
            word != "grid" and 1 <= len(elts) <= MAX_NOTES
        ):
            found = [e.value for e in elts if isinstance(e, ast.Constant)]
            notes = tuple(n for n in found if isinstance(n, str) and is_note(n))
            if len(notes) == len(elts):
                return notes
    raise refused(
        f"after the extent of a plain loop only notes may stand, as in notes=('streams',): up to "
        f"{MAX_NOTES} texts of letters, digits, spaces and _.,:;=+-", node,
    )  # fmt: skip
