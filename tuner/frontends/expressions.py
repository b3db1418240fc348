"""Expressions of the program text: syntax tree to typed nodes.

Literals are weak: they take the type of what they meet (the other operand, or the stored buffer).
Everything else has a type of its own; where float widths or integer widths meet, the narrower is
cast, and integers never meet floats without a cast in the text.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from tuner.dtypes import BOOL, DTYPES, F64, INDEX, DType, promote
from tuner.errors import LimitRefused, SyntaxRefused
from tuner.frontends.limits import MAX_NODES
from tuner.frontends.literals import convert, fold, place
from tuner.ir.nodes import Buffer, Call, Cast, Const, Expr, Load, Select, Var
from tuner.ir.ops import OPS
from tuner.ir.words import FUNCTIONS

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div",
    ast.FloorDiv: "floordiv", ast.Mod: "mod",
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
#: How many operands each function takes; None: two or more.
_ARITY: dict[str, int | None] = {
    **{name: OPS[name].arity for name in FUNCTIONS},
    "min": None, "max": None, "select": 3, "clamp": 3, **dict.fromkeys(DTYPES, 1),
}  # fmt: skip


def refused(message: str, node: ast.AST) -> SyntaxRefused:
    """The error to raise at `node`."""
    return SyntaxRefused(message, *place(node))


@dataclass
class Reader:
    """Reads expressions in the scope of one function. The scope is filled by the statements."""

    buffers: dict[str, Buffer] = field(default_factory=dict)
    #: visible loops: name in the text -> unique name
    loops: dict[str, str] = field(default_factory=dict)
    #: id of a node -> its place in the text; the nodes live as long as the program
    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    count: int = 0
    #: subscripts around what is being read: there, integers are i64 from the load on
    _subscripts: int = 0
    _types: dict[ast.expr, DType | None] = field(default_factory=dict)

    def value(self, node: ast.expr, dtype: DType) -> Expr:
        """The expression for a store into a buffer of `dtype`."""
        expr = self._expr(node, dtype)
        if (expr.dtype.kind == "float") != dtype.is_float or (expr.dtype == BOOL) != (
            dtype == BOOL
        ):
            raise refused(
                f"a value of type {expr.dtype} for a buffer of {dtype}; "
                f"convert it: {dtype}({ast.unparse(node)})", node,
            )  # fmt: skip
        return self._cast(expr, dtype, node)

    def condition(self, node: ast.expr) -> Expr:
        """A boolean expression."""
        expr = self._expr(node, BOOL)
        if expr.dtype != BOOL:
            raise refused(f"a condition of type {expr.dtype}; write a comparison", node)
        return expr

    def access(self, node: ast.Subscript) -> tuple[Buffer, tuple[Expr, ...]]:
        """Buffer and subscripts of `x[i, j]`, with the right rank."""
        if not isinstance(node.value, ast.Name):
            raise refused("only a buffer's name can be subscripted", node)
        buffer = self._buffer(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(parts) != len(buffer.shape):
            raise refused(
                f"{ast.unparse(node)}: {len(parts)} subscripts for a buffer of rank "
                f"{len(buffer.shape)}, {buffer.name}: {buffer.dtype}{list(buffer.shape)}", node,
            )  # fmt: skip
        return buffer, tuple(self._index(p) for p in parts)

    def _buffer(self, name: ast.Name) -> Buffer:
        if name.id not in self.buffers:
            known = ", ".join(self.buffers) or "none"
            raise refused(f"unknown buffer {name.id!r}; there are: {known}", name)
        return self.buffers[name.id]

    def _index(self, node: ast.expr) -> Expr:
        if isinstance(node, ast.Slice | ast.Starred):
            raise refused("slices are not in the language; write a loop", node)
        self._subscripts += 1
        expr = self._expr(node, INDEX)
        self._subscripts -= 1
        if not expr.dtype.is_integer:
            raise refused(f"a subscript of type {expr.dtype}; it must be an integer", node)
        return self._cast(expr, INDEX, node)

    def _made(self, expr: Expr, node: ast.expr) -> Expr:
        self.count += 1
        if self.count > MAX_NODES:
            raise LimitRefused(
                f"more than {MAX_NODES} expression nodes in the program", *place(node)
            )
        self.places[id(expr)] = place(node)
        return expr

    def _cast(self, expr: Expr, dtype: DType, node: ast.expr) -> Expr:
        return expr if expr.dtype == dtype else self._made(Cast(dtype, expr), node)

    # -- types, before anything is built ---------------------------------------------------------

    def _type(self, node: ast.expr) -> DType | None:
        """The type of `node`; None where it is made of literals only."""
        if node not in self._types:
            self._types[node] = self._find_type(node)
        return self._types[node]

    def _find_type(self, node: ast.expr) -> DType | None:
        match node:
            case ast.Constant(value=bool()) | ast.Compare() | ast.BoolOp():
                return BOOL
            case ast.UnaryOp(op=ast.Not()):
                return BOOL
            case ast.UnaryOp(operand=operand):
                return self._type(operand)
            case ast.Name(id=name) if name in self.loops:
                return INDEX
            case ast.Subscript(value=ast.Name() as name):
                dtype = self._buffer(name).dtype
                return INDEX if self._subscripts and dtype.is_integer else dtype
            case ast.BinOp(left=left, right=right):
                return self._join([left, right], node)
            case ast.IfExp(body=then, orelse=other):
                return self._join([then, other], node)
            case ast.Call(func=ast.Name(id=name), args=args):
                if name in DTYPES:
                    return DTYPES[name]
                return self._join(args[1:] if name == "select" else args, node)
        return None

    def _join(self, nodes: list[ast.expr], parent: ast.expr) -> DType | None:
        joined: DType | None = None
        for node in nodes:
            dtype = self._type(node)
            if joined is None or dtype is None:
                joined = joined or dtype
                continue
            kinds = {joined.is_float, dtype.is_float}, {joined == BOOL, dtype == BOOL}
            if any(len(kind) > 1 for kind in kinds):
                target = joined if joined.is_float else dtype if dtype.is_float else joined
                raise refused(
                    f"{joined} and {dtype} meet in {ast.unparse(parent)}; "
                    f"convert one of them explicitly, as in {target}(...)", parent,
                )  # fmt: skip
            joined = promote(joined, dtype)
        return joined

    # -- expressions -----------------------------------------------------------------------------

    def _expr(self, node: ast.expr, want: DType) -> Expr:
        """`node` as a node of its own type, or of `want` where only literals are in it."""
        dtype = self._type(node) or want
        number = fold(node)
        if number is not None:
            return self._made(Const(convert(number, dtype, node), dtype), node)
        match node:
            case ast.Constant(value=bool() as flag):
                return self._made(Const(flag, BOOL), node)
            case ast.Name():
                return self._name(node)
            case ast.Subscript():
                buffer, indices = self.access(node)
                load = self._made(Load(buffer.name, indices, buffer.dtype), node)
                return self._cast(load, dtype, node)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._expr(operand, want)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._operation("neg", [operand], dtype, node)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._made(Call("not", (self.condition(operand),), BOOL), node)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self._operation(_BINARY[type(op)], [left, right], dtype, node)
            case ast.BoolOp(op=op, values=values):
                return self._logic("and" if isinstance(op, ast.And) else "or", values, node)
            case ast.Compare():
                return self._fold_left("and", self._compare(node), node)
            case ast.IfExp(test=test, body=then, orelse=other):
                return self._select(test, then, other, node, dtype)
            case ast.Call():
                return self._call(node, dtype)
        raise refused(f"not in the language: {_shorten(node)}", node)

    def _name(self, node: ast.Name) -> Expr:
        if node.id in self.loops:
            return self._made(Var(self.loops[node.id]), node)
        if node.id in self.buffers:
            raise refused(f"buffer {node.id!r} without subscripts", node)
        known = ", ".join(self.loops) or "none"
        raise refused(f"unknown name {node.id!r}; the loops here are: {known}", node)

    def _typed(self, node: ast.expr, dtype: DType) -> Expr:
        return self._cast(self._expr(node, dtype), dtype, node)

    def _operation(self, op: str, operands: list[ast.expr], dtype: DType, node: ast.expr) -> Expr:
        if dtype == BOOL:
            raise refused(f"{op} of bool values; convert them: i32(...)", node)
        if OPS[op].result == "float" and not dtype.is_float:
            raise refused(f"{op} of {dtype} values; convert them first: f32(...)", node)
        if op in ("floordiv", "mod") and not dtype.is_integer:
            raise refused(f"// and % are for integers; write floor(...) for {dtype}", node)
        args = [self._typed(o, dtype) for o in operands]
        return self._fold_left(op, args, node) if len(args) > 2 else self._made(
            Call(op, tuple(args), dtype), node
        )  # fmt: skip

    def _fold_left(self, op: str, args: list[Expr], node: ast.expr) -> Expr:
        out = args[0]
        for arg in args[1:]:
            out = self._made(Call(op, (out, arg), arg.dtype), node)
        return out

    def _logic(self, op: str, values: list[ast.expr], node: ast.expr) -> Expr:
        parts: list[Expr] = []
        for value in values:
            # The parts of `0 <= i < n and ...` join the conjunction that they stand in.
            if op == "and" and isinstance(value, ast.Compare):
                parts += self._compare(value)
            else:
                parts.append(self.condition(value))
        return self._fold_left(op, parts, node)

    def _compare(self, node: ast.Compare) -> list[Expr]:
        """The comparisons of a chain, one by one."""
        operands = [node.left, *node.comparators]
        parts: list[Expr] = []
        for op, left, right in zip(node.ops, operands[:-1], operands[1:], strict=True):
            if type(op) not in _COMPARE:
                raise refused(f"not in the language: {_shorten(node)}", node)
            dtype = self._join([left, right], node) or _natural(left, right)
            if dtype == BOOL and not isinstance(op, ast.Eq | ast.NotEq):
                raise refused("bool values have no order; use and, or, not, == and !=", node)
            args = (self._typed(left, dtype), self._typed(right, dtype))
            parts.append(self._made(Call(_COMPARE[type(op)], args, BOOL), node))
        return parts

    def _select(
        self, test: ast.expr, then: ast.expr, other: ast.expr, node: ast.expr, dtype: DType
    ) -> Expr:
        cond = self.condition(test)
        return self._made(Select(cond, self._typed(then, dtype), self._typed(other, dtype)), node)

    def _call(self, node: ast.Call, dtype: DType) -> Expr:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if name not in _ARITY:
            known = ", ".join(sorted(FUNCTIONS | {"select", "clamp"}))
            raise refused(f"unknown function {name!r}; there are: {known} and the types", node)
        arity, args = _ARITY[name], node.args
        wrong = len(args) < 2 if arity is None else len(args) != arity
        if wrong or node.keywords or any(isinstance(a, ast.Starred) for a in args):
            expected = "two or more" if arity is None else arity
            raise refused(f"{name} takes {expected} plain operands", node)
        if name in DTYPES:
            return self._conversion(args[0], dtype, node)
        if name == "select":
            return self._select(args[0], args[1], args[2], node, dtype)
        if name == "clamp":
            return self._clamp(args, dtype, node)
        return self._operation(name, args, dtype, node)

    def _conversion(self, arg: ast.expr, dtype: DType, node: ast.expr) -> Expr:
        number = fold(arg)
        if number is not None:
            return self._made(Const(convert(number, dtype, arg), dtype), node)
        return self._cast(self._expr(arg, dtype), dtype, node)

    def _clamp(self, args: list[ast.expr], dtype: DType, node: ast.expr) -> Expr:
        """clamp(x, low, high) is min(max(x, low), high), as numpy.clip."""
        if dtype == BOOL:
            raise refused("clamp of bool values; convert them: i32(...)", node)
        value, low, high = (self._typed(a, dtype) for a in args)
        inner = self._made(Call("max", (value, low), dtype), node)
        return self._made(Call("min", (inner, high), dtype), node)


def _natural(*literals: ast.expr) -> DType:
    """The type in which literals are compared with each other."""
    return F64 if any(isinstance(fold(n), float) for n in literals) else INDEX


def _shorten(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else f"{text[:57]}..."
