"""The program text of a Python function: its source, with numbers of its scope as literals."""

from __future__ import annotations

import ast
import builtins
import contextlib
import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from tilewright.language import ConstantType, ElementType, Word
from tuner.errors import ProgramError, SyntaxRefused
from tuner.ir.words import RESERVED

_NOTHING = object()


def function_text(function: Callable[..., Any], around: Mapping[str, Any]) -> str:
    """The text of `function`, whose lines keep the numbers that they have in its file.

    Names are looked up in its closure, in `around` (annotations are evaluated there) and in its
    globals. Numbers become literals, the language's words lose their module (`tw.f32` is `f32`).
    Raises ProgramError where the source cannot be had, or a name stands for something else.
    """
    if not isinstance(function, FunctionType):
        raise ProgramError(f"expected a plain function, found {type(function).__name__}")
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise ProgramError(
            f"the source text of {function.__name__} cannot be read: define it in a file"
        ) from error
    lines = _without_indentation(lines)
    node = _definition(function, lines)
    lines = ["\n"] * (first - 1) + lines
    ast.increment_lineno(node, first - 1)
    encoded = [line.encode() for line in lines[: node.end_lineno]]
    for name, literal in reversed(list(_replacements(node, _scope(function, around)))):
        row = encoded[name.lineno - 1]
        encoded[name.lineno - 1] = (
            row[: name.col_offset] + literal.encode() + row[name.end_col_offset :]
        )
    encoded[: node.lineno - 1] = [b"\n"] * (node.lineno - 1)
    return b"".join(encoded).decode().rstrip() + "\n"


def _without_indentation(lines: list[str]) -> list[str]:
    """Lines of a function as if it stood at the margin."""
    width = len(lines[0]) - len(lines[0].lstrip())
    return [line[min(width, len(line) - len(line.lstrip(" \t"))) :] for line in lines]


def _definition(function: FunctionType, lines: list[str]) -> ast.FunctionDef:
    """The function's syntax tree."""
    try:
        node = ast.parse("".join(lines)).body[0]
    except SyntaxError:
        node = ast.Pass()
    if not isinstance(node, ast.FunctionDef):
        raise ProgramError(f"{function.__name__}: a program is written with `def`")
    if len(node.decorator_list) > 1:
        raise ProgramError(f"{function.__name__}: a program has no other decorator")
    return node


def _scope(function: FunctionType, around: Mapping[str, Any]) -> dict[str, Any]:
    """What the function's free names stand for; those without a value yet are left out."""
    scope = {**function.__globals__, **around}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):
            scope[name] = cell.cell_contents
    return scope


def _replacements(
    node: ast.FunctionDef, scope: Mapping[str, Any]
) -> Iterator[tuple[ast.expr, str]]:
    """The names to replace, in the text's order, each with what takes its place."""
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    own = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    own |= {argument.arg for argument in node.args.args}
    found = []
    pending: list[ast.AST] = [node.args, *node.body]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Name | ast.Attribute):
            value = _value(part, own, scope)
            if value is not _NOTHING:
                found.append((part, _literal(part, value)))
                continue
        pending += ast.iter_child_nodes(part)
    yield from sorted(found, key=lambda pair: (pair[0].lineno, pair[0].col_offset))


def _value(part: ast.Name | ast.Attribute, own: set[str], scope: Mapping[str, Any]) -> Any:
    """What a name of the surrounding scope stands for; _NOTHING for others, and for builtins."""
    if isinstance(part, ast.Name):
        if part.id in own or (part.id not in scope and hasattr(builtins, part.id)):
            return _NOTHING
        return scope.get(part.id, _NOTHING)
    if not isinstance(part.value, ast.Name | ast.Attribute):
        return _NOTHING
    of = _value(part.value, own, scope)
    return getattr(of, part.attr, _NOTHING) if isinstance(of, ModuleType) else _NOTHING


def _literal(part: ast.expr, value: Any) -> str:
    """`value` as it is written in program text. Raises SyntaxRefused where it cannot be."""
    match value:
        case ElementType(dtype=dtype):
            return dtype.name
        case ConstantType():
            return "const"
        case Word(name=name):
            return name
        case bool() | np.bool_():
            return str(bool(value))
        case int() | np.integer():
            return _signed(int(value))
        case float() | np.floating() if not math.isnan(value):
            return _signed(float(value))
    if isinstance(part, ast.Name) and part.id in RESERVED | vars(builtins).keys():
        return part.id  # the language's word, whatever function of that name is at hand
    raise SyntaxRefused(
        f"{ast.unparse(part)!r} is a {type(value).__name__} here; what is put in from the scope "
        "around a program are integers and floats", part.lineno, part.col_offset + 1,
    )  # fmt: skip


def _signed(number: float) -> str:
    """A number that may stand anywhere in an expression."""
    return f"({number!r})" if math.copysign(1.0, number) < 0 else repr(number)
