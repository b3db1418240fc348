"""Which statements combine values in any order, and why others do not.

Partial results can be put together where the operator is associative and commutative, and something
is known to start them with that changes nothing. That is so for the declared reductions (`+=`,
`*=`, and max and min of the element itself); wrapping integers included, and floats by the meaning
of the language, which leaves their order free.
"""

from __future__ import annotations

from collections.abc import Sequence

from tuner.dtypes import DType
from tuner.errors import ScheduleError
from tuner.ir.affine import Ranges
from tuner.ir.nodes import Call, Expr, Load, Store
from tuner.ir.numerics import identity
from tuner.ir.ops import FLOAT_IDENTITY, OPS, REDUCERS
from tuner.ir.show import show_body, show_expr
from tuner.ir.visit import walk_exprs
from tuner.schedule.access import Access, of_buffer, reads
from tuner.schedule.legality import check_read_first, repeated


def neutral(reducer: str, dtype: DType) -> int | float:
    """The value that leaves every other of `dtype`, a number's type, unchanged under `reducer`."""
    return FLOAT_IDENTITY[reducer] if dtype.is_float else int(identity(reducer, dtype))


def check_declared(
    store: Store, found: Sequence[Access], ranges: Ranges, guards: Sequence[Expr]
) -> None:
    """Raises ScheduleError where `store` combines what it assigns with the element's old value:
    its instances then run in one order. `found` are the accesses around, which tell of a pair."""
    if store.reduce is not None or not _own(store, store.value):
        return
    shown = repeated(of_buffer(found, store.buffer), ranges, guards)
    raise ScheduleError(f"{show_body((store,)).strip()}: {_why_ordered(store)}{shown}")


def check_own_reads(
    store: Store, found: Sequence[Access], ranges: Ranges, guards: Sequence[Expr]
) -> None:
    """Raises ScheduleError where the accumulation `store` may read an element into which it has
    accumulated: partial results would hide it. `found` are the accesses from its partial results'
    start to their end."""
    if store.buffer not in reads(store.value):
        return
    check_read_first(
        of_buffer(found, store.buffer), ranges, guards,
        f"and read by its own accumulation, {show_body((store,)).strip()}, so that the operator is "
        f"not {_name(str(store.reduce))} alone: partial results would hide what was written",
    )  # fmt: skip


def _why_ordered(store: Store) -> str:
    """Why an assignment that reads its own element cannot run in any order."""
    match store.value:
        case Call(op=op, args=(a, b)) if _is_own(store, a) or _is_own(store, b):
            other = b if _is_own(store, a) else a
            if op not in REDUCERS:
                return f"{_name(op)} is not associative and commutative, so its order must stay"
            if not _own(store, other):
                return (
                    f"the order of assignments must stay; write it as a reduction by {_name(op)}, "
                    f"{show_body((Store(store.buffer, store.indices, other, op),)).strip()}, to "
                    f"leave it free"
                )
    return (
        f"{show_expr(store.value)} is no operator that is associative and commutative with a known "
        f"identity, so its order must stay"
    )


def _name(op: str) -> str:
    return OPS[op].symbol or op


def _is_own(store: Store, expr: Expr) -> bool:
    return isinstance(expr, Load) and (expr.buffer, expr.indices) == (store.buffer, store.indices)


def _own(store: Store, expr: Expr) -> bool:
    """Whether `expr` reads the element that `store` writes."""
    return any(_is_own(store, e) for e in walk_exprs(expr))
