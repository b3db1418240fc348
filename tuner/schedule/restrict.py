"""A nest over a part of its iterations: some loops run over a box only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tuner.ir.affine import Linear, Ranges, simplify_linear
from tuner.ir.nodes import For, Stmt, Var
from tuner.ir.visit import Body, rewrite_body
from tuner.schedule.nest import extents, guarded
from tuner.schedule.region import inside
from tuner.schedule.substitution import substituted

#: The iterations base + t of a loop, where 0 <= t < extent, base in loops around the nest.
Boxes = Mapping[str, tuple[Linear, int]]


def restricted(nest: Stmt, boxes: Boxes, ranges: Ranges) -> Body:
    """`nest` over `boxes` only, guarded to stay in its old iterations. Loops keep their names."""
    sizes = {name: extent for name, (_, extent) in boxes.items()}
    ranges = {**ranges, **extents((nest,)), **sizes}
    values = {name: base.plus(Linear({Var(name): 1})) for name, (base, _) in boxes.items()}
    body = substituted((nest,), {name: form.expr() for name, form in values.items()}, ranges)

    def sized(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For) or stmt.var not in boxes:
            return stmt
        form = simplify_linear(values[stmt.var], ranges)
        conds = inside((form,), (stmt.extent,), ranges)
        return replace(stmt, extent=sizes[stmt.var], body=guarded(conds, stmt.body))

    return rewrite_body(body, sized)
