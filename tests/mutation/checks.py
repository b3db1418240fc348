"""Every check of legality in tuner.schedule, found by introspection, each with a switch.

A check is a statement that refuses (`raise`), a call of a function that does (`check_…`), or a
function whose answer decides (it returns bool, or is one of ANSWERS). Off, the statement is left
out, and the function gives the answer that accepts.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import CodeType, ModuleType
from typing import Any

import tuner.schedule

#: Functions that return more than a bool, with the answer that accepts.
ANSWERS = {
    "legality.equal_loops": "None", "dependence.meeting": "None", "defined.undefined": "None",
    "motion.meet": "''", "motion.meet_apart": "''", "motion.meet_in_order": "''",
}  # fmt: skip
#: Functions whose False accepts.
FALSE = ("_varies", "_uses", "has_load")


@dataclass(frozen=True, slots=True)
class Check:
    """`name`: module, function, and what of its message stands in the source, or what it calls."""

    name: str
    module: ModuleType
    #: of the function, with its class
    function: str
    #: lines of the statement; none for a function as a whole
    first: int = 0
    last: int = 0
    #: what a function as a whole returns if it is switched off
    answer: str = ""

    def refused(self, error: BaseException) -> bool:
        """Whether it was this check that raised `error`."""
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_filename == self.module.__file__ and (
                self.first <= trace.tb_lineno <= self.last
            ):
                return True
            trace = trace.tb_next
        cause = error.__cause__
        return cause is not None and self.refused(cause)


@cache
def checks() -> dict[str, Check]:
    """All of them, by name."""
    found: dict[str, Check] = {}
    for info in pkgutil.iter_modules(tuner.schedule.__path__):
        module = importlib.import_module(f"tuner.schedule.{info.name}")
        for function, node in _functions(_tree(module)):
            for check in _of(module, info.name, function, node):
                name, again = check.name, 1
                while name in found:
                    again += 1
                    name = f"{check.name} ({again})"
                found[name] = Check(name, module, function, check.first, check.last, check.answer)
    return found


def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    yield f"{node.name}.{inner.name}", inner


def _of(module: ModuleType, short: str, function: str, node: ast.FunctionDef) -> Iterator[Check]:
    name = f"{short}.{function}"
    answer = ANSWERS.get(name)
    if answer is None and node.returns is not None and ast.unparse(node.returns) == "bool":
        answer = str(function.rpartition(".")[2] not in FALSE)
    if answer is not None:
        yield Check(name, module, function, answer=answer)
    for stmt in ast.walk(node):
        what = ""
        if isinstance(stmt, ast.Raise) and stmt.exc is not None:
            what = _message(stmt.exc)
        elif isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
            called = ast.unparse(stmt.value.func)
            what = f"{called}()" if "check" in called.lower() else ""
        if what:
            assert isinstance(stmt, ast.stmt)
            yield Check(f"{name}: {what}", module, function, stmt.lineno, stmt.end_lineno or 0)


def _message(raised: ast.expr) -> str:
    """The longest part of a message that stands in the source as it is."""
    parts = [
        p.value
        for p in ast.walk(raised)
        if isinstance(p, ast.Constant) and isinstance(p.value, str)
    ]
    longest = max(parts, key=len, default="").strip(" ,;:.")[:50].strip(" ,;:.")
    return longest or ast.unparse(raised)[:50]


@contextmanager
def off(check: Check) -> Iterator[None]:
    """As if `check` were not there. Its function gets other code, so that whoever imported it has
    it switched off, too."""
    function = _function(check)
    old = function.__code__
    function.__code__ = _code_without(check)
    try:
        yield
    finally:
        function.__code__ = old


@cache
def _code_without(check: Check) -> CodeType:
    tree = _Without(check).visit(_tree(check.module))
    code = compile(ast.fix_missing_locations(tree), str(check.module.__file__), "exec")
    return _found(code, check.function)


def _function(check: Check) -> Any:
    found: Any = check.module
    for name in check.function.split("."):
        found = getattr(found, name)
    return found


def _found(code: CodeType, function: str) -> CodeType:
    """The code of `function` inside that of its module."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_qualname == function:
                return inner
            if function.startswith(f"{inner.co_qualname}."):
                return _found(inner, function)
    raise LookupError(function)


class _Without(ast.NodeTransformer):
    """Takes one check out of the source of its module."""

    def __init__(self, check: Check) -> None:
        self._check = check

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.FunctionDef) and self._check.answer:
            if node.name == self._check.function.rpartition(".")[2]:
                node.body = ast.parse(f"return {self._check.answer}").body
            return node
        if isinstance(node, ast.Raise | ast.Expr) and node.lineno == self._check.first:
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)
