"""The operators that can be asked for by name. A new one is one file and one row here."""

from __future__ import annotations

from tuner.errors import WorkloadError
from tuner.workload.conv1d import CONV1D
from tuner.workload.conv2d import CONV2D
from tuner.workload.conv_transpose2d import CONV_TRANSPOSE2D
from tuner.workload.dense import DENSE
from tuner.workload.depthwise_conv2d import DEPTHWISE_CONV2D
from tuner.workload.elementwise import ELEMENTWISE
from tuner.workload.matmul import BATCH_MATMUL, MATMUL
from tuner.workload.movement import CONCAT, EMBEDDING, PAD, SLICE, TRANSPOSE
from tuner.workload.norms import BATCH_NORM, LAYER_NORM, RMS_NORM
from tuner.workload.operator import MAY_BE_ZERO, Operator, Size, Sizes
from tuner.workload.pool2d import AVG_POOL2D, MAX_POOL2D
from tuner.workload.reductions import ARGMAX, REDUCE_SUM
from tuner.workload.softmax import SOFTMAX

OPERATORS: dict[str, Operator] = {
    o.name: o
    for o in (
        MATMUL, BATCH_MATMUL, DENSE, CONV1D, CONV2D, DEPTHWISE_CONV2D, CONV_TRANSPOSE2D,
        MAX_POOL2D, AVG_POOL2D, SOFTMAX, LAYER_NORM, RMS_NORM, BATCH_NORM, REDUCE_SUM, ARGMAX,
        TRANSPOSE, CONCAT, PAD, SLICE, EMBEDDING, *ELEMENTWISE,
    )
}  # fmt: skip

#: The largest single size; what buffers may hold is limited by the parser.
MAX_SIZE = 1 << 30


def program_text(op: str, sizes: Sizes, dtype: str = "f32") -> str:
    """The text of operator `op` at `sizes`; omitted sizes take their defaults.

    Raises WorkloadError naming the operator, the size, and what there is.
    """
    operator = _operator(op)
    if dtype not in operator.dtypes:
        raise WorkloadError(f"{op}: no dtype {dtype!r}; there are: {', '.join(operator.dtypes)}")
    full = complete_sizes(op, sizes)
    numbers = {name: value for name, value in full.items() if isinstance(value, int)}
    words = {name: value for name, value in full.items() if isinstance(value, str)}
    return operator.text(numbers, words, dtype)


def complete_sizes(op: str, sizes: Sizes) -> dict[str, Size]:
    """All sizes of `op`, checked, in the catalogue's order. Raises WorkloadError."""
    operator = _operator(op)
    known = ", ".join(
        name if default is None else f"{name}={default}" for name, default in operator.sizes.items()
    )
    for name in sizes:
        if name not in operator.sizes:
            raise WorkloadError(f"{op}: unknown size {name!r}; there are: {known}")
    full: dict[str, Size] = {}
    for name, default in operator.sizes.items():
        if isinstance(default, str):
            default = full.get(default, default)
        value = sizes.get(name, default)
        if value is None:
            raise WorkloadError(f"{op}: size {name!r} is missing; there are: {known}")
        _check(operator, name, value)
        full[name] = value
    return full


def _operator(op: str) -> Operator:
    if op not in OPERATORS:
        raise WorkloadError(f"unknown operator {op!r}; there are: {', '.join(OPERATORS)}")
    return OPERATORS[op]


def _check(operator: Operator, name: str, value: object) -> None:
    where = f"{operator.name}: {name}={value!r}"
    if name in operator.words:
        if value not in operator.words[name]:
            raise WorkloadError(f"{where}; it can be: {', '.join(operator.words[name])}")
        return
    least = 0 if name in MAY_BE_ZERO else 1
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MAX_SIZE:
        raise WorkloadError(f"{where}; it must be an integer from {least} to {MAX_SIZE}")
