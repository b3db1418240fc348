"""What is legal before lowering: the checks that make generated code memory-safe.

`verify` runs on what a user wrote and on what a schedule made of it. It raises

- SyntaxRefused   a subscript is not affine, a guard reads data, a value is read before it is given
- BoundsRefused   an access that cannot be proven inside its buffer
- LimitRefused    index arithmetic that could leave 64 bits
- StageError      names, ranks or types that do not fit together (never from a user's text)
"""

from __future__ import annotations

from collections.abc import Mapping

from tuner.dtypes import BF16, BOOL, INDEX, DType
from tuner.errors import BoundsRefused, LimitRefused, SyntaxRefused
from tuner.ir.affine import Ranges
from tuner.ir.bounds import EMPTY, Prover, bounds_under
from tuner.ir.nodes import (
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    For,
    If,
    Load,
    Node,
    Program,
    Select,
    Store,
    Var,
)
from tuner.ir.numerics import identity
from tuner.ir.show import literal_text, show_access, show_expr, show_type
from tuner.ir.structure import check_structure
from tuner.ir.visit import Body, expr_children, outputs, stmt_exprs, walk, walk_exprs

__all__ = ["MAX_INDEX", "Places", "bounds_under", "verify"]

#: id of a node -> line and column in the text it was read from
Places = Mapping[int, tuple[int, int]]

#: No sum or product in index arithmetic may reach this size, so that it can be regrouped freely.
MAX_INDEX = 1 << 48


def verify(program: Program, places: Places | None = None) -> None:
    """Raises where `program` is not legal; `places` puts the user's errors at line and column."""
    check_structure(program)
    checker = _Checker({b.name: b for b in program.buffers()}, places or {})
    checker.body(program.body, Prover({}))
    _check_start_values(program, checker)


class _Checker:
    def __init__(self, buffers: Mapping[str, Buffer], places: Places) -> None:
        self.buffers, self._places = buffers, places

    def place(self, node: Node) -> tuple[int, int]:
        return self._places.get(id(node), (0, 0))

    def body(self, body: Body, scope: Prover) -> None:
        for stmt in body:
            match stmt:
                case For():
                    inner = {**scope.ranges, stmt.var: stmt.extent}
                    self.body(stmt.body, Prover(inner, scope.guards))
                case If():
                    self._guard(stmt.cond, scope)
                    self.body(stmt.body, scope.under(stmt.cond))
                case Store():
                    self._store(stmt, scope)

    def _guard(self, cond: Expr, scope: Prover) -> None:
        for node in walk_exprs(cond):
            known = isinstance(node, Var | Const | Call) and node.dtype in (INDEX, BOOL)
            if not known:
                does = "reads data" if isinstance(node, Load) else "is not on integers alone"
                raise SyntaxRefused(
                    f"the test {show_expr(cond)} {does}; an if tests loop variables only: "
                    "use a conditional expression, y[i] = a if test else b", *self.place(node),
                )  # fmt: skip
        self._value(cond, scope)

    def _store(self, stmt: Store, scope: Prover) -> None:
        for index in stmt.indices:
            for node in walk_exprs(index):
                if isinstance(node, Load):
                    raise SyntaxRefused(
                        f"{show_access(stmt.buffer, stmt.indices)}: the place of a store cannot "
                        "depend on data; only reads may be indirect", *self.place(node),
                    )  # fmt: skip
        self._access(stmt, scope)
        if stmt.reduce:
            text = show_access(stmt.buffer, stmt.indices)
            self._computable(self.buffers[stmt.buffer].dtype, stmt, text)
        self._value(stmt.value, scope)

    def _computable(self, dtype: DType, node: Node, text: str) -> None:
        if dtype == BF16:
            does = "is accumulated into" if isinstance(node, Store) else "is computed with"
            raise SyntaxRefused(
                f"{text} {does}, but bf16 is a type to store in only: compute in f32, as in "
                "f32(x[i]), and accumulate in an f32 buffer", *self.place(node),
            )  # fmt: skip

    def _value(self, expr: Expr, scope: Prover) -> None:
        """Every access below `expr`. The sides of a conditional are guarded by its test; the
        operands of `and` are not guarded by one another, for both may be evaluated."""
        match expr:
            case Select(cond, then, other):
                self._value(cond, scope)
                self._value(then, scope.under(cond))
                self._value(other, scope.under(Call("not", (cond,), BOOL)))
                return
            case Load():
                self._access(expr, scope)
                return
            case Call():
                self._division(expr)
                for arg in expr.args:
                    self._computable(arg.dtype, expr, show_expr(arg))
        self._arithmetic(expr, scope.ranges)
        for child in expr_children(expr):
            self._value(child, scope)

    def _access(self, access: Load | Store, scope: Prover) -> None:
        buffer = self.buffers[access.buffer]
        for number, (index, extent) in enumerate(zip(access.indices, buffer.shape, strict=True)):
            self._affine(index, access)
            self._value(index, scope)
            low, high = scope.bounds(index)
            if (low, high) != EMPTY and (low < 0 or high >= extent):
                raise BoundsRefused(
                    _outside(access, number, (low, high), buffer), *self.place(access)
                )

    def _affine(self, index: Expr, access: Load | Store) -> None:
        match index:
            case Const() | Var():
                return
            case Call(op="add" | "sub" | "neg", args=args):
                for arg in args:
                    self._affine(arg, access)
                return
            case Call(op="mul", args=(a, Const())) | Call(op="mul", args=(Const(), a)):
                self._affine(a, access)
                return
            case Call(op="floordiv" | "mod", args=(a, Const(value=d))) if d > 0:
                self._affine(a, access)
                return
            case Call(op="min" | "max") if _is_clamped_load(index):
                return
        raise SyntaxRefused(
            f"{show_access(access.buffer, access.indices)}: {show_expr(index)} is not affine; a "
            "subscript may hold loop variables, + and -, and * // % with literals, or "
            "clamp(t[i], low, high) of data", *self.place(access),
        )  # fmt: skip

    def _division(self, expr: Call) -> None:
        if expr.op not in ("floordiv", "mod"):
            return
        divisor = expr.args[1]
        if not (isinstance(divisor, Const) and divisor.value > 0):
            raise SyntaxRefused(
                f"{show_expr(expr)}: // and % take a positive literal on the right",
                *self.place(expr),
            )

    def _arithmetic(self, expr: Expr, ranges: Ranges) -> None:
        """Index arithmetic must stay where no regrouping can overflow."""
        if expr.dtype == INDEX and isinstance(expr, Call):
            size = _magnitude(expr, ranges)
            if size is not None and size > MAX_INDEX:
                raise LimitRefused(
                    f"{show_expr(expr)} may reach {size}; index arithmetic stays below 2**48",
                    *self.place(expr),
                )


def _outside(access: Load | Store, number: int, found: tuple[int, int], buffer: Buffer) -> str:
    low, high = found
    index = show_expr(access.indices[number])
    text = show_access(access.buffer, access.indices)
    remedy = (
        f"guard it, as in `{text} if 0 <= {index} < {buffer.shape[number]} else 0`"
        if isinstance(access, Load)
        else f"guard it: `if 0 <= {index} < {buffer.shape[number]}:`"
    )
    return (
        f"{text}: subscript {number + 1}, {index}, runs from {low} to {high}, but "
        f"{buffer.name}: {show_type(buffer)} has 0 to {buffer.shape[number] - 1} there; {remedy}"
    )


def _is_clamped_load(index: Expr) -> bool:
    """Whether `index` is min(max(load, low), high), or the other way round, with literals."""
    match index:
        case Call(
            op="min" | "max" as outer,
            args=(Call(op="min" | "max" as inner, args=(data, Const())), Const()),
        ):
            loaded = data.arg if isinstance(data, Cast) else data
            return outer != inner and isinstance(loaded, Load) and loaded.dtype.is_integer
    return False


def _magnitude(expr: Expr, ranges: Ranges) -> int | None:
    """An upper limit of every partial result however sums are regrouped; None where data is in."""
    match expr:
        case Const(value=value):
            return abs(int(value))
        case Var(name):
            return max(ranges[name], 1)
        case Call(op=op, args=args):
            sizes = [_magnitude(a, ranges) for a in args]
            known = [s for s in sizes if s is not None]
            if len(known) < len(sizes):
                return None
            if op == "mul":
                return known[0] * known[1]
            return sum(known)
        case Select(_, then, other):
            a, b = _magnitude(then, ranges), _magnitude(other, ranges)
            return None if a is None or b is None else max(a, b)
    return None


def _check_start_values(program: Program, checker: _Checker) -> None:
    """Nothing is read, or accumulated into, before some store has given it a value."""
    inputs = {b.name for b in program.params} - set(outputs(program))
    if not set(outputs(program)):
        raise SyntaxRefused("no parameter is stored into: the program has no output")
    given = set(inputs)
    for stmt in walk(program.body):
        for expr in stmt_exprs(stmt):
            for node in walk_exprs(expr):
                if isinstance(node, Load) and node.buffer not in given:
                    raise SyntaxRefused(
                        f"{show_access(node.buffer, node.indices)} is read before any store "
                        f"gives {node.buffer!r} a value", *checker.place(node),
                    )  # fmt: skip
        if isinstance(stmt, Store):
            if stmt.reduce and stmt.buffer not in given:
                target, dtype = show_access(stmt.buffer, stmt.indices), stmt.value.dtype
                start = literal_text(identity(stmt.reduce, dtype).item(), dtype)
                raise SyntaxRefused(
                    f"the reduction into {target} has no start value; store one before it: "
                    f"{target} = {start}", *checker.place(stmt),
                )  # fmt: skip
            given.add(stmt.buffer)
