"""pad: a reduction runs over more iterations than there are values."""

from __future__ import annotations

from dataclasses import replace

from tuner.dtypes import BOOL
from tuner.errors import ScheduleError
from tuner.ir.nodes import Call, Const, Program, Select, Stmt, Store, Var
from tuner.ir.visit import rewrite_body, stores, variables
from tuner.schedule.memory_steps import Pad
from tuner.schedule.nest import find_serial, put
from tuner.schedule.reducers import neutral

#: Most iterations of a padded loop.
MAX_EXTENT = 1 << 20


def pad(program: Program, step: Pad) -> Program:
    """Rounds the extent of a reduction's `loop` up; what is added accumulates neutral elements.

        for k in range(7):                 for k in range(8):
            s[0] += x[k] * w[k]    ->          s[0] += x[k] * w[k] if k < 7 else 0.0

    So a loop can be split, unrolled or vectorized without a tail. An intermediate buffer's own
    dimensions are rounded up by transform_layout.

    Legal for a serial loop that contains accumulations only, each into a place that does not depend
    on the loop. Neutral are 0, 1, and for min and max infinities or the limits of the type.
    """
    place = find_serial(program, step.loop)
    loop = place.loop
    if not loop.extent <= step.extent <= MAX_EXTENT:
        raise ScheduleError(
            f"extent must be between that of {loop.var!r}, {loop.extent}, and {MAX_EXTENT}; "
            f"found {step.extent}"
        )
    for store in stores(loop.body):
        if store.reduce is None:
            raise ScheduleError(
                f"{store.buffer!r} is assigned in {loop.var!r}: expected accumulations only; "
                f"decompose the reduction first"
            )
        if any(loop.var in variables(index) for index in store.indices):
            raise ScheduleError(
                f"the accumulation into {store.buffer!r} moves with {loop.var!r}, so that more "
                f"iterations would leave it: expected a loop of the reduction"
            )
    real = Call("lt", (Var(loop.var), Const(loop.extent)), BOOL)

    def padded(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Store) or stmt.reduce is None:
            return stmt
        dtype = stmt.value.dtype
        return replace(
            stmt, value=Select(real, stmt.value, Const(neutral(stmt.reduce, dtype), dtype))
        )

    if step.extent == loop.extent:
        return program
    body = rewrite_body(loop.body, padded)
    return put(program, place, (replace(loop, extent=step.extent, body=body),))
