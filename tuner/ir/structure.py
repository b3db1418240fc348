"""Whether a program is well formed: names, ranks and types fit together.

A user's text never fails here, for the parser says what is wrong with it first: a failure is a
defect of whatever made the program.
"""

from __future__ import annotations

from collections import Counter

from tuner.dtypes import BOOL, INDEX
from tuner.errors import StageError
from tuner.ir.nodes import (
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    For,
    If,
    Load,
    Program,
    Scope,
    Select,
    Store,
    Var,
)
from tuner.ir.ops import OPS, REDUCERS
from tuner.ir.show import show_access, show_expr
from tuner.ir.visit import Body, expr_children, loops


def check_structure(program: Program) -> None:
    """Raises StageError where `program` is not well formed, or already lowered."""
    names = Counter((*(b.name for b in program.buffers()), *(f.var for f in loops(program.body))))
    for name, count in names.items():
        _expect(count == 1, f"the name {name!r} is used {count} times; names are unique")
    for buffer in program.buffers():
        _expect(min(buffer.shape, default=0) >= 1, f"buffer {buffer.name!r} has no elements")
    for buffer in program.params:
        _expect(buffer.scope is Scope.PARAM, f"parameter {buffer.name!r} is {buffer.scope}")
    for buffer in program.locals:
        _expect(buffer.scope is not Scope.PARAM, f"local {buffer.name!r} is a parameter")
    _Structure({b.name: b for b in program.buffers()}).body(program.body, frozenset())


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise StageError(message)


class _Structure:
    def __init__(self, buffers: dict[str, Buffer]) -> None:
        self._buffers = buffers

    def body(self, body: Body, visible: frozenset[str]) -> None:
        for stmt in body:
            match stmt:
                case For():
                    _expect(stmt.extent >= 1, f"loop {stmt.var!r} has extent {stmt.extent}")
                    self.body(stmt.body, visible | {stmt.var})
                case If():
                    self._expr(stmt.cond, visible)
                    _expect(stmt.cond.dtype == BOOL, "the test of an if is no condition")
                    self.body(stmt.body, visible)
                case Store():
                    self._store(stmt, visible)

    def _store(self, stmt: Store, visible: frozenset[str]) -> None:
        buffer = self._access(stmt.buffer, stmt.indices, visible)
        self._expr(stmt.value, visible)
        _expect(not buffer.const, f"{buffer.name!r} is const and stored into")
        _expect(
            stmt.value.dtype == buffer.dtype,
            f"a {stmt.value.dtype} value is stored into {buffer.name!r}, which is {buffer.dtype}",
        )
        _expect(stmt.reduce is None or stmt.reduce in REDUCERS, f"no reducer {stmt.reduce!r}")

    def _access(self, name: str, indices: tuple[Expr, ...], visible: frozenset[str]) -> Buffer:
        buffer = self._buffers.get(name)
        if buffer is None or len(indices) != len(buffer.shape):
            found = "is not declared" if buffer is None else f"has rank {len(buffer.shape)}"
            raise StageError(f"{show_access(name, indices)}: buffer {name!r} {found}")
        for index in indices:
            self._expr(index, visible)
            if index.dtype != INDEX:
                raise StageError(f"{show_access(name, indices)}: a subscript is {index.dtype}")
        return buffer

    def _expr(self, expr: Expr, visible: frozenset[str]) -> None:
        match expr:
            case Load():
                buffer = self._access(expr.buffer, expr.indices, visible)
                if expr.dtype != buffer.dtype:
                    raise StageError(f"{show_expr(expr)} is {buffer.dtype}, not {expr.dtype}")
                return
            case Var(name) if name not in visible:
                raise StageError(f"no loop {name!r} around its use")
        for child in expr_children(expr):
            self._expr(child, visible)
        if not _typed(expr):
            raise StageError(f"operand types do not fit: {show_expr(expr)}")


def _fits(expr: Const) -> bool:
    if isinstance(expr.value, bool):
        return expr.dtype == BOOL
    return expr.dtype.is_float or (expr.dtype.is_integer and isinstance(expr.value, int))


def _typed(expr: Expr) -> bool:
    match expr:
        case Const():
            return _fits(expr)
        case Var() | Cast():
            return True
        case Select(cond, then, other):
            return cond.dtype == BOOL and then.dtype == other.dtype
        case Call(op=op, args=args) if op in OPS and len(args) == OPS[op].arity:
            info, operand = OPS[op], args[0].dtype
            if any(a.dtype != operand for a in args):
                return False
            if info.result == "bool":
                logic = op in ("and", "or", "not")
                return expr.dtype == BOOL and (operand == BOOL or not logic)
            return expr.dtype == operand and (operand.is_float or info.result != "float")
    return False
