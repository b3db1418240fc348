"""Program text to Program: a small subset of Python, read with `ast` and never executed.

    def NAME(x: f32[4, 8], w: const[f32[8]], y: f32[4]):
        t = buffer(f32[4])                      # or buffer(f32[4], "local")
        for i in range(4):                      # or grid(4, 8), unrolled(4), parallel(4), …
            t[i] = 0.0                          # a reduction needs its start value
            for j in range(8):
                t[i] += x[i, j] * w[j]          # also *=, and t[i] = max(t[i], ...), min
            if i >= 1:
                y[i] = t[i] if t[i] > 0 else 0.0

The program is taken as written; only literals are folded, and a loop name used again gets a suffix.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from tuner.dtypes import BOOL
from tuner.errors import LimitRefused, SyntaxRefused
from tuner.frontends.declarations import buffer_type, check_sizes
from tuner.frontends.expressions import Reader, refused
from tuner.frontends.limits import (
    MAX_DEPTH,
    MAX_LOOPS,
    MAX_STATEMENTS,
    check_name,
    read_module,
)
from tuner.frontends.literals import place
from tuner.frontends.loop_headers import loop_header
from tuner.ir.canonical import canonicalize
from tuner.ir.nodes import Buffer, Expr, For, If, Program, Scope, Stmt, Store
from tuner.ir.show import show
from tuner.ir.verify import verify
from tuner.ir.visit import Body, expr_children

_REDUCE: dict[type[ast.operator], str] = {ast.Add: "add", ast.Mult: "mul"}


def parse(text: str) -> Program:
    """The program that `text` describes, verified.

    Raises SyntaxRefused, BoundsRefused or LimitRefused with line and column.
    """
    reader = _FunctionReader()
    program = reader.read(_only_function(read_module(text)))
    verify(program, reader.expressions.places)
    _check_canonical(program)
    return program


def _check_canonical(program: Program) -> None:
    """What travels between machines is the canonical text: it must be readable in turn."""
    try:
        _FunctionReader().read(_only_function(read_module(show(canonicalize(program)[0]))))
    except LimitRefused as error:
        raise LimitRefused(f"once loops and sums are written out: {error.message}") from None
    except SyntaxRefused:
        # Nothing is left of it: no test in it can hold.
        raise SyntaxRefused("no statement of the program can ever run") from None


def _only_function(module: ast.Module) -> ast.FunctionDef:
    """The one `def` of the text; imports from tilewright and docstrings may stand before it."""
    found: ast.FunctionDef | None = None
    for node in module.body:
        match node:
            case ast.ImportFrom(module="tilewright", level=0):
                continue
            case ast.Expr(value=ast.Constant(value=str())):
                continue
            case ast.FunctionDef() if found is None:
                found = node
            case ast.FunctionDef():
                raise refused("a second function; a text holds exactly one program", node)
            case _:
                raise refused("only one `def` may stand here", node)
    if found is None:
        raise SyntaxRefused("no program found; write `def name(x: f32[4], y: f32[4]): ...`", 1, 1)
    return found


@dataclass
class _FunctionReader:
    """Reads one function. The scope grows as its statements are read."""

    expressions: Reader = field(default_factory=Reader)
    locals: list[Buffer] = field(default_factory=list)
    #: names that a renamed loop must not get
    taken: set[str] = field(default_factory=set)
    used_loops: set[str] = field(default_factory=set)
    loop_count: int = 0
    statement_count: int = 0

    def read(self, node: ast.FunctionDef) -> Program:
        """The program as written."""
        self.taken |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        self.taken |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
        check_name(node.name, *place(node))
        if node.decorator_list or node.returns:
            raise refused("decorators and return types are not in the language", node)
        params = self._params(node.args, node)
        body = self._body(node.body, top=True)
        if not body:
            raise refused("the program computes nothing; store into its last parameter", node)
        return Program(node.name, params, tuple(self.locals), body)

    # -- buffers ---------------------------------------------------------------------------------

    def _params(self, args: ast.arguments, node: ast.AST) -> tuple[Buffer, ...]:
        if args.vararg or args.kwarg or args.posonlyargs or args.kwonlyargs or args.defaults:
            raise refused("parameters are plain: `x: f32[4, 8]`, no defaults, no *", node)
        params: list[Buffer] = []
        for arg in args.args:
            if arg.annotation is None:
                raise refused(f"parameter {arg.arg!r} has no type; write x: f32[4, 8]", arg)
            params.append(self._declare(arg.arg, arg.annotation, Scope.PARAM, arg))
        return tuple(params)

    def _declare(self, name: str, annotation: ast.expr, scope: Scope, node: ast.AST) -> Buffer:
        check_name(name, *place(node))
        known = self.expressions.buffers
        if name in known or name in self.used_loops:
            raise refused(f"{name!r} is already taken; names must differ", node)
        buffer = buffer_type(name, annotation, scope)
        known[name] = buffer
        check_sizes(buffer, known.values(), node)
        return buffer

    # -- statements ------------------------------------------------------------------------------

    def _body(self, nodes: list[ast.stmt], top: bool = False) -> Body:
        out: list[Stmt] = []
        for node in nodes:
            self.statement_count += 1
            if self.statement_count > MAX_STATEMENTS:
                raise LimitRefused(f"more than {MAX_STATEMENTS} statements", *place(node))
            stmt = self._statement(node, top)
            if stmt is not None:
                self.expressions.places[id(stmt)] = place(node)
                out.append(stmt)
        return tuple(out)

    def _statement(self, node: ast.stmt, top: bool) -> Stmt | None:
        match node:
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                return None
            case ast.For(orelse=[]):
                return self._loop(node)
            case ast.If(test=test, body=body, orelse=[]):
                return self._if(test, body, node)
            case ast.If() | ast.For():
                raise refused("no else here; write a second if with the opposite test", node)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._local(name, value, node, top)
                return None
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                return self._assign(target, value)
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
                if type(op) not in _REDUCE:
                    raise refused("reductions are +=, *=, and x[i] = max(x[i], ...), min", node)
                return self._store(target, value, _REDUCE[type(op)])
        raise refused("not in the language: expected a loop, an if, a store or a buffer(...)", node)

    def _if(self, test: ast.expr, nodes: list[ast.stmt], node: ast.If) -> If:
        cond = self._shallow(self.expressions.condition(test), node)
        body = self._body(nodes)
        if not body:
            raise refused("an empty if; store something in it", node)
        return If(cond, body)

    def _local(self, name: str, value: ast.expr, node: ast.AST, top: bool) -> None:
        """`t = buffer(f32[4], "local")`."""
        match value:
            case ast.Call(func=ast.Name(id="buffer"), args=[annotation, *scopes], keywords=[]):
                pass
            case _:
                raise refused(
                    f"{name!r} is assigned without subscripts; a scalar is a buffer of one "
                    f'element: {name} = buffer(f32[1], "local")', node,
                )  # fmt: skip
        if not top:
            raise refused("declare buffers at the top of the function, outside of loops", node)
        match scopes:
            case []:
                scope = Scope.GLOBAL
            case [ast.Constant(value="local" | "shared" | "global" as word)]:
                scope = Scope(word)
            case _:
                raise refused('a buffer\'s scope is "local", "shared" or "global"', value)
        buffer = self._declare(name, annotation, scope, node)
        if buffer.const:
            raise refused("only a parameter can be const", annotation)
        self.locals.append(buffer)

    def _assign(self, target: ast.Subscript, value: ast.expr) -> Store:
        """A store; `x[i] = max(x[i], e)` is the reduction it spells."""
        match value:
            case ast.Call(func=ast.Name(id="max" | "min" as op), args=[a, b], keywords=[]):
                place_text = ast.dump(target.slice)
                for same, other in ((a, b), (b, a)):
                    if (
                        isinstance(same, ast.Subscript)
                        and ast.dump(same.value) == ast.dump(_as_load(target.value))
                        and ast.dump(same.slice) == place_text
                    ):
                        return self._store(target, other, op)
        return self._store(target, value, None)

    def _store(self, target: ast.Subscript, value: ast.expr, reduce: str | None) -> Store:
        buffer, indices = self.expressions.access(target)
        if buffer.const:
            raise refused(f"{buffer.name!r} is const and cannot be stored into", target)
        if reduce and buffer.dtype == BOOL:
            raise refused("no reductions into a bool buffer; use an i32 one", target)
        expr = self._shallow(self.expressions.value(value, buffer.dtype), value)
        for index in indices:
            self._shallow(index, target)
        return Store(buffer.name, indices, expr, reduce)

    def _shallow(self, expr: Expr, node: ast.AST) -> Expr:
        """`expr`, which chained comparisons and min of many make deeper than its text."""
        level: tuple[Expr, ...] = (expr,)
        depth = 0
        while level:
            depth += 1
            if depth > MAX_DEPTH:
                raise LimitRefused(
                    f"an expression more than {MAX_DEPTH} deep; split the statement", *place(node)
                )
            level = tuple(child for e in level for child in expr_children(e))
        return expr

    # -- loops -----------------------------------------------------------------------------------

    def _loop(self, node: ast.For) -> For:
        header = loop_header(node)
        visible = self.expressions.loops
        unique: list[str] = []
        for name in header.names:
            if name in visible or name in self.expressions.buffers:
                raise refused(f"{name!r} is already taken; names must differ", node.target)
            unique.append(self._unique(name, node))
            visible[name] = unique[-1]
        body = self._body(node.body)
        for name in header.names:
            del visible[name]
        if not body:
            raise refused("an empty loop; store something in it", node)
        for name, count in zip(reversed(unique), reversed(header.extents), strict=True):
            stmt = For(name, count, header.kind, body, header.notes)
            self.expressions.places[id(stmt)] = place(node)
            body = (stmt,)
        return stmt

    def _unique(self, name: str, node: ast.For) -> str:
        """`name` itself the first time, then name_2, name_3, …"""
        self.loop_count += 1
        if self.loop_count > MAX_LOOPS:
            raise LimitRefused(f"more than {MAX_LOOPS} loops", *place(node))
        if name not in self.used_loops:
            self.used_loops.add(name)
            return name
        number = 2
        while f"{name}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{name}_{number}")
        return f"{name}_{number}"


def _as_load(node: ast.expr) -> ast.expr:
    """A name as it is written where it is read."""
    return ast.Name(id=node.id, ctx=ast.Load()) if isinstance(node, ast.Name) else node
