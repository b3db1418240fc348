"""Every operator of the language, one row each; parser, printer, interpreter and code generators
read this table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpInfo:
    """One operator."""

    arity: int
    #: infix or prefix symbol in the Python syntax; "" for a function call by name
    symbol: str = ""
    #: Python's binding strength, higher binds tighter; 0 for calls
    precedence: int = 0
    #: "same" as the promoted operands, "bool" for comparisons and logic, "float" for maths
    result: str = "same"
    #: counts as one flop
    flop: bool = False
    #: in float arithmetic, exact on small integers
    exact: bool = False


_MATH = OpInfo(1, result="float", flop=True)

OPS: dict[str, OpInfo] = {
    "add": OpInfo(2, "+", 60, flop=True, exact=True),
    "sub": OpInfo(2, "-", 60, flop=True, exact=True),
    "mul": OpInfo(2, "*", 70, flop=True, exact=True),
    "div": OpInfo(2, "/", 70, result="float", flop=True),
    "floordiv": OpInfo(2, "//", 70),
    "mod": OpInfo(2, "%", 70),
    "neg": OpInfo(1, "-", 80, flop=True, exact=True),
    "lt": OpInfo(2, "<", 50, "bool", flop=True, exact=True),
    "le": OpInfo(2, "<=", 50, "bool", flop=True, exact=True),
    "gt": OpInfo(2, ">", 50, "bool", flop=True, exact=True),
    "ge": OpInfo(2, ">=", 50, "bool", flop=True, exact=True),
    "eq": OpInfo(2, "==", 50, "bool", flop=True, exact=True),
    "ne": OpInfo(2, "!=", 50, "bool", flop=True, exact=True),
    "and": OpInfo(2, "and", 30, "bool", exact=True),
    "or": OpInfo(2, "or", 20, "bool", exact=True),
    "not": OpInfo(1, "not", 40, "bool", exact=True),
    "min": OpInfo(2, flop=True, exact=True),
    "max": OpInfo(2, flop=True, exact=True),
    "abs": OpInfo(1, flop=True, exact=True),
    "floor": OpInfo(1, flop=True, exact=True),
    "ceil": OpInfo(1, flop=True, exact=True),
    "round": OpInfo(1, flop=True, exact=True),
    "pow": OpInfo(2, result="float", flop=True),
    **dict.fromkeys(("exp", "log", "sqrt", "rsqrt", "tanh", "erf", "sigmoid", "sin", "cos"), _MATH),
}  # fmt: skip

#: Associative and commutative operators that a Store may accumulate with.
REDUCERS: tuple[str, ...] = ("add", "mul", "min", "max")

#: Identity of each reducer in floating point; integers use the range of their type for min and max.
FLOAT_IDENTITY: dict[str, float] = {
    "add": 0.0, "mul": 1.0, "min": float("inf"), "max": float("-inf"),
}  # fmt: skip
