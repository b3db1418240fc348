"""Element-wise operators, one row each, and chains that broadcast a row or a column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tuner.workload.operator import Operator

#: sqrt(1/2) and sqrt(2/pi), to f64's last digit
_ROOT_HALF, _ROOT_TWO_OVER_PI = "0.7071067811865476", "0.7978845608028654"
_FLOATS = ("f32", "f64", "bf16")
_NUMBERS = (*_FLOATS, "i32")


def gelu(x: str) -> str:
    """The text of x * (the normal distribution's share below x)."""
    return f"0.5 * {x} * (1 + erf({x} * {_ROOT_HALF}))"


def gelu_tanh(x: str) -> str:
    """The text of gelu's usual approximation by tanh."""
    return f"0.5 * {x} * (1 + tanh({_ROOT_TWO_OVER_PI} * ({x} + 0.044715 * {x} * {x} * {x})))"


#: name -> value of one element, dtypes
_UNARY: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "relu": ("max(x[i], 0)", _NUMBERS),
    "gelu": (gelu("x[i]"), _FLOATS),
    "gelu_tanh": (gelu_tanh("x[i]"), _FLOATS),
    "silu": ("x[i] * sigmoid(x[i])", _FLOATS),
    "sigmoid": ("sigmoid(x[i])", _FLOATS),
    "tanh": ("tanh(x[i])", _FLOATS),
    "erf": ("erf(x[i])", _FLOATS),
    "exp": ("exp(x[i])", _FLOATS),
    "abs": ("abs(x[i])", _NUMBERS),
    "neg": ("-x[i]", _NUMBERS),
}
_BINARY: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "add": ("a[i] + b[i]", _NUMBERS),
    "sub": ("a[i] - b[i]", _NUMBERS),
    "mul": ("a[i] * b[i]", _NUMBERS),
    "div": ("a[i] / b[i]", _FLOATS),
    "minimum": ("min(a[i], b[i])", _NUMBERS),
    "maximum": ("max(a[i], b[i])", _NUMBERS),
}


def _computed(value: str, dtype: str, reads: Iterable[str]) -> str:
    """`value` with its reads of bf16 widened to f32, in which it is computed."""
    for read in reads if dtype == "bf16" else ():
        value = value.replace(read, f"f32({read})")
    return value


def _elementwise(name: str, inputs: str, value: str, dtypes: tuple[str, ...]) -> Operator:
    def text(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
        n = size["n"]
        params = ", ".join(f"{one}: {dtype}[{n}]" for one in (*inputs, "y"))
        result = _computed(value, dtype, [f"{one}[i]" for one in inputs])
        return f"def apply_{name}({params}):\n    for i in range({n}):\n        y[i] = {result}\n"

    doc = f"y[i] = {value}"
    return Operator(name=name, doc=doc, sizes={"n": None}, dtypes=dtypes, text=text, words={})


def _broadcast(name: str, params: Mapping[str, str], value: str) -> Operator:
    """`params`: name -> dimensions of each input beside x, among rows and cols."""

    def text(size: Mapping[str, int], _: Mapping[str, str], dtype: str) -> str:
        rows, cols = size["rows"], size["cols"]
        reads = ["x[i, j]", *(f"{p}[{'i' if of == 'rows' else 'j'}]" for p, of in params.items())]
        extra = "".join(f"{one}: const[{dtype}[{size[of]}]], " for one, of in params.items())
        return f"""
def {name}(x: {dtype}[{rows}, {cols}], {extra}y: {dtype}[{rows}, {cols}]):
    for i, j in grid({rows}, {cols}):
        y[i, j] = {_computed(value, dtype, reads)}
"""

    sizes = {"rows": None, "cols": None}
    return Operator(
        name=name, doc=f"y[i, j] = {value}", sizes=sizes, dtypes=_FLOATS, text=text, words={}
    )


ELEMENTWISE: tuple[Operator, ...] = (
    *(_elementwise(name, "x", *row) for name, row in _UNARY.items()),
    *(_elementwise(name, "ab", *row) for name, row in _BINARY.items()),
    _broadcast("bias_gelu", {"b": "cols"}, gelu("(x[i, j] + b[j])")),
    _broadcast("bias_relu", {"b": "cols"}, "max(x[i, j] + b[j], 0)"),
    _broadcast("scale_shift", {"s": "rows", "w": "cols", "b": "cols"},
               "x[i, j] * s[i] * w[j] + b[j]"),
)  # fmt: skip
