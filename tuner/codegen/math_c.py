"""Bodies of the inline functions, as templates over one element type.

{t} is the type, {u} the unsigned type of its size, {s} the suffix of its maths functions. NaN goes
through min and max as through numpy's.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Operators of two operands among the helpers.
BINARY = frozenset({"min", "max", "pow", "floordiv", "mod"})
#: Operators that call the maths library where no instruction does them.
LIBM = frozenset({
    "exp", "log", "tanh", "erf", "sin", "cos", "pow", "floor", "ceil", "round", "floordiv", "mod",
})  # fmt: skip


def _libm(name: str) -> str:
    return f"    return __builtin_{name}{{s}}(a);"


FLOAT_FORMS: Mapping[str, str] = {
    "min": "    {t} r = a < b ? a : b;\n    return a != a ? a : r;",
    "max": "    {t} r = a > b ? a : b;\n    return a != a ? a : r;",
    "abs": _libm("fabs"),
    "sqrt": _libm("sqrt"),
    "rsqrt": "    return 1 / __builtin_sqrt{s}(a);",
    "floor": _libm("floor"),
    "ceil": _libm("ceil"),
    "round": _libm("rint"),
    "exp": _libm("exp"),
    "log": _libm("log"),
    "tanh": _libm("tanh"),
    "erf": _libm("erf"),
    "sin": _libm("sin"),
    "cos": _libm("cos"),
    "pow": "    return __builtin_pow{s}(a, b);",
    "floordiv": """\
    if (b == 0)
        return a / b;
    {t} rest = __builtin_fmod{s}(a, b), q = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0))
        q -= 1;
    {t} whole = __builtin_floor{s}(q);
    return q == 0 ? __builtin_copysign{s}(0, a / b) : q - whole > ({t})0.5 ? whole + 1 : whole;""",
    "mod": """\
    {t} rest = __builtin_fmod{s}(a, b);
    if (b == 0)
        return rest;
    if (rest == 0)
        return __builtin_copysign{s}(0, b);
    return (b < 0) != (rest < 0) ? rest + b : rest;""",
}

#: Division by zero gives 0, the smallest value over -1 itself, as in numpy.
INTEGER_FORMS: Mapping[str, str] = {
    "neg": "    return ({t})(0 - ({u})a);",
    "min": "    return a < b ? a : b;",
    "max": "    return a > b ? a : b;",
    "abs": "    return a < 0 ? ({t})(0 - ({u})a) : a;",
    "floor": "    return a;",
    "ceil": "    return a;",
    "round": "    return a;",
    "floordiv": """\
    if (b == 0)
        return 0;
    if (b == ({t})-1)
        return ({t})(0 - ({u})a);
    return ({t})(a / b - (a % b != 0 && (a < 0) != (b < 0)));""",
    "mod": """\
    if (b == 0 || b == ({t})-1)
        return 0;
    {t} rest = ({t})(a % b);
    return rest != 0 && (a < 0) != (b < 0) ? ({t})(rest + b) : rest;""",
}

UNSIGNED_FORMS: Mapping[str, str] = {
    **INTEGER_FORMS,
    "abs": "    return a;",
    "floordiv": "    return b ? a / b : 0;",
    "mod": "    return b ? a % b : 0;",
}

#: e^a for a vector {f} of {n} f32 with unsigned integer lanes {u}. At most 1 ulp from the true
#: value (tests/codegen/test_math.py), subnormal results included.
EXP = """\
    /* e^a = 2^n e^r, n = round(a / ln 2), |r| <= ln 2 / 2; the polynomial is a minimax fit.
       Beyond the ends the result is 0 or infinity; NaN passes through. At most 1 ulp.
       The low bits of t are n + 254; halves of it are exponents whose powers multiply to 2^n. */
    for (int i = 0; i < {n}; i++)
        a[i] = 89.0f < a[i] ? 89.0f : a[i];
    for (int i = 0; i < {n}; i++)
        a[i] = -104.0f > a[i] ? -104.0f : a[i];
    {f} t = a * 1.44269504f + 12583166.0f;
    {f} n = t - 12583166.0f;
    {f} r = a - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    {f} p = r * 0.00138145395f + 0.00836874545f;
    p = p * r + 0.041668389f;
    p = p * r + 0.166665211f;
    p = p * r + 0.49999994f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    {u} half = ({u})t >> 1;
    return p * ({f})(half << 23) * ({f})((({u})t - half) << 23);"""
