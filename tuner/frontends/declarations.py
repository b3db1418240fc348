"""Buffers as the program text declares them."""

from __future__ import annotations

import ast
from collections.abc import Collection

from tuner.dtypes import DTYPES
from tuner.errors import LimitRefused
from tuner.frontends.expressions import refused
from tuner.frontends.limits import (
    MAX_BUFFER_BYTES,
    MAX_BUFFERS,
    MAX_LOCAL_BYTES,
    MAX_RANK,
    MAX_TOTAL_BYTES,
    MAX_TOTAL_LOCAL_BYTES,
)
from tuner.frontends.literals import extent, place
from tuner.ir.nodes import Buffer, Scope


def buffer_type(name: str, node: ast.expr, scope: Scope) -> Buffer:
    """`f32[4, 8]` or `const[f32[4, 8]]`."""
    match node:
        case ast.Subscript(value=ast.Name(id="const"), slice=inner):
            buffer = buffer_type(name, inner, scope)
            return Buffer(buffer.name, buffer.dtype, buffer.shape, scope, const=True)
        case ast.Subscript(value=ast.Name(id=word), slice=inner) if word in DTYPES:
            dims = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        case _:
            known = ", ".join(DTYPES)
            raise refused(
                f"{ast.unparse(node)!r} is not a buffer's type; write one as f32[4, 8]; "
                f"the element types are: {known}", node,
            )  # fmt: skip
    if not 1 <= len(dims) <= MAX_RANK:
        raise refused(f"a buffer has 1 to {MAX_RANK} dimensions; found {len(dims)}", node)
    shape = tuple(extent(d, f"a dimension of {name!r}") for d in dims)
    return Buffer(name, DTYPES[word], shape, scope)


def check_sizes(buffer: Buffer, known: Collection[Buffer], node: ast.AST) -> None:
    """Raises LimitRefused where `buffer`, or all `known` ones together, are beyond a limit."""
    if len(known) > MAX_BUFFERS:
        raise LimitRefused(f"more than {MAX_BUFFERS} buffers", *place(node))
    local = buffer.scope is Scope.LOCAL
    of_one, of_all = (
        (MAX_LOCAL_BYTES, MAX_TOTAL_LOCAL_BYTES) if local else (MAX_BUFFER_BYTES, MAX_TOTAL_BYTES)
    )
    if buffer.bytes > of_one:
        raise LimitRefused(
            f"buffer {buffer.name!r} has {buffer.bytes} bytes; the limit is {of_one}"
            + (' for a "local" one' if local else ""), *place(node),
        )  # fmt: skip
    total = sum(b.bytes for b in known if (b.scope is Scope.LOCAL) == local)
    if total > of_all:
        raise LimitRefused(
            f"all buffers together have {total} bytes; the limit is {of_all}", *place(node)
        )
