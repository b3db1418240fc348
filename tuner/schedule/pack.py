"""pack: what is read of a buffer is first copied into another layout."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tuner.dtypes import INDEX, DType
from tuner.errors import ScheduleError
from tuner.ir.affine import (
    Linear,
    Ranges,
    all_of,
    conjuncts,
    linear,
    simplify_index,
    simplify_linear,
)
from tuner.ir.nodes import (
    TRUE,
    Buffer,
    Call,
    Const,
    Expr,
    For,
    Load,
    LoopKind,
    Program,
    Scope,
    Select,
    Store,
    Var,
)
from tuner.ir.visit import Body, loads, map_body_exprs, map_expr, with_body
from tuner.schedule.access import accesses, of_buffer
from tuner.schedule.legality import check_read_first
from tuner.schedule.nest import (
    Place,
    build,
    check_count,
    check_fresh,
    declare,
    extents,
    find,
    find_buffer,
    put,
    serial,
)
from tuner.schedule.region import Region, inside, only_outside, touched
from tuner.schedule.steps import Pack

#: Most bytes of one packed buffer.
MAX_PACKED_BYTES = 1 << 30
_AXIS = re.compile(r"(\d{1,2})(?:(//|%)(\d{1,6}))?")


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a packed buffer: dimension `of` whole (kind ""), its tiles ("//") or the
    position in a tile ("%")."""

    of: int
    kind: str = ""
    factor: int = 1

    def extent(self, size: int) -> int:
        """Extent of the axis for a dimension of `size`."""
        return {"": size, "//": -(-size // self.factor), "%": self.factor}[self.kind]

    def index(self, offset: Expr, ranges: Ranges) -> Expr:
        """Subscript of the axis for an offset into the dimension."""
        if not self.kind:
            return simplify_index(offset, ranges)
        op = "floordiv" if self.kind == "//" else "mod"
        return simplify_index(Call(op, (offset, Const(self.factor)), INDEX), ranges)


def parse_layout(layout: tuple[str, ...], rank: int) -> tuple[Axis, ...]:
    """The axes that the texts of a layout mean.

    Raises ScheduleError unless each of the `rank` dimensions stands there once whole, or once as
    tiles and once as position with the same factor.
    """
    axes: list[Axis] = []
    for text in layout:
        match = _AXIS.fullmatch(text)
        if match is None:
            raise ScheduleError(f"expected 'd', 'd//factor' or 'd%factor'; found {text!r}")
        of, kind, factor = match.groups()
        axes.append(Axis(int(of), kind or "", int(factor or 1)))
    for d in range(rank):
        kinds = sorted(a.kind for a in axes if a.of == d)
        factors = {a.factor for a in axes if a.of == d}
        if kinds not in ([""], ["%", "//"]) or len(factors) != 1 or 0 in factors:
            raise ScheduleError(
                f"dimension {d} must stand in the layout once as '{d}', or once as '{d}//factor' "
                f"and once as '{d}%factor'; found {layout}"
            )
    if any(a.of >= rank for a in axes):
        raise ScheduleError(f"the buffer has {rank} dimensions; found the layout {layout}")
    return tuple(axes)


def pack(program: Program, step: Pack) -> Program:
    """Copies what is read of `buffer` into `packed`, laid out as `layout` says, and reads it there.

        for i in range(4):            for u in range(2):
            for j in range(8):            for v in range(4):
                y[i, j] = x[j]   ->           p[u, v] = x[u * 4 + v]
                                      for i in range(4):
                                          for j in range(8):
                                              y[i, j] = p[j // 4, j % 4]

    with layout ("0//4", "0%4") and loops ("u", "v"). The copy stands at the start of the body of
    `loop`, or where `loop` is "" just before the first nest that reads the buffer. It holds the box
    of all elements read, as indexed; what of it lies outside the buffer, and what rounding up to
    whole tiles adds, is 0. A read `x[e] if e is inside else 0` becomes a plain read of the copy.

    Legal where nothing after the copy (with a loop: nothing in its body) writes an element of the
    buffer that is read later, and all reads lie in one box that moves with the loops around only.
    """
    buffer = find_buffer(program, step.buffer)
    place = find(program, step.loop) if step.loop else None
    before, body = _scope(program, place, step)
    axes = parse_layout(step.layout, len(buffer.shape))
    check_count("loops", len(axes), step.loops)
    check_fresh(program, step.packed, *step.loops)
    found = of_buffer(accesses(body), step.buffer)
    inner = extents(body)
    ranges = {**(place.ranges() if place else {}), **inner}
    around = place.guards() if place else ()
    check_read_first(found, ranges, around, "where its copy would be read; pack it elsewhere")
    region = touched([a for a in found if not a.writes], inner, ranges)
    sizes = tuple(a.extent(region.extents[a.of]) for a in axes)
    packed = Buffer(step.packed, buffer.dtype, sizes, Scope.GLOBAL)
    if packed.bytes > MAX_PACKED_BYTES:
        raise ScheduleError(f"the copy needs {packed.bytes} bytes; at most {MAX_PACKED_BYTES}")
    copy = _copy(buffer, packed, axes, region, serial(step.loops, sizes), ranges)
    new = (*before, *copy, *_reading(body, buffer, packed, axes, region, ranges))
    if place is None:
        return declare(replace(program, body=new), packed)
    return declare(put(program, place, (with_body(place.loop, new),)), packed)


def _scope(program: Program, place: Place | None, step: Pack) -> tuple[Body, Body]:
    """What stands before the copy, and the statements that are to read it."""
    if place is not None:
        if place.loop.kind == LoopKind.VECTORIZED:
            raise ScheduleError(f"loop {step.loop!r} is vectorized: pack before vectorizing")
        if any(load.buffer == step.buffer for load in loads(place.loop.body)):
            return (), place.loop.body
    else:
        for at, stmt in enumerate(program.body):
            if any(load.buffer == step.buffer for load in loads((stmt,))):
                return program.body[:at], program.body[at:]
    where = f"the body of {step.loop!r}" if step.loop else "the program"
    raise ScheduleError(f"nothing in {where} reads {step.buffer!r}")


def _copy(
    buffer: Buffer, packed: Buffer, axes: Sequence[Axis], region: Region, nest: Sequence[For],
    ranges: Ranges,
) -> Body:  # fmt: skip
    """The nest that fills `packed`."""
    ranges = {**ranges, **{loop.var: loop.extent for loop in nest}}
    offsets = [Linear({}) for _ in buffer.shape]
    for axis, loop in zip(axes, nest, strict=True):
        scale = axis.factor if axis.kind == "//" else 1
        offsets[axis.of] = offsets[axis.of].plus(Linear({Var(loop.var): scale}))
    element = region.element(offsets, ranges)
    value: Expr = Load(buffer.name, tuple(e.expr() for e in element), buffer.dtype)
    cond = all_of(inside(element, buffer.shape, ranges))
    if cond != TRUE:
        value = Select(cond, value, _zero(buffer.dtype))
    return build(nest, (), (Store(packed.name, tuple(Var(loop.var) for loop in nest), value),))


def _zero(dtype: DType) -> Const:
    return Const(0.0 if dtype.is_float else 0 if dtype.is_integer else False, dtype)


def _reading(
    body: Body, buffer: Buffer, packed: Buffer, axes: Sequence[Axis], region: Region,
    ranges: Ranges,
) -> Body:  # fmt: skip
    """`body` with every read of `buffer` made on `packed`."""

    def without_padding(expr: Expr) -> Expr:
        match expr:
            case Select(cond, Load() as load, Const(value=v)) if (
                load.buffer == buffer.name and v == 0 and not str(v).startswith("-")
            ):
                element = [simplify_linear(linear(i), ranges) for i in load.indices]
                kept = [
                    c for c in conjuncts(cond) if not only_outside(c, element, buffer.shape, ranges)
                ]
                return Select(all_of(kept), load, expr.other) if kept else load
        return expr

    def from_packed(expr: Expr) -> Expr:
        if not isinstance(expr, Load) or expr.buffer != buffer.name:
            return expr
        element = [simplify_linear(linear(i), ranges) for i in expr.indices]
        offsets = [t.expr() for t in region.relative(element, ranges)]
        return Load(packed.name, tuple(a.index(offsets[a.of], ranges) for a in axes), expr.dtype)

    return map_body_exprs(body, lambda e: map_expr(map_expr(e, without_padding), from_packed))
