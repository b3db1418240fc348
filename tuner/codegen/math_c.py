"""Bodies of the inline functions, as templates over one element type.

{t} is the type, {u} the unsigned type of its size; the names of maths functions begin with {m} and
end with {s}. NaN goes through min and max as through numpy's.
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
    return f"    return {{m}}{name}{{s}}(a);"


FLOAT_FORMS: Mapping[str, str] = {
    "min": "    {t} r = a < b ? a : b;\n    return a != a ? a : r;",
    "max": "    {t} r = a > b ? a : b;\n    return a != a ? a : r;",
    "abs": _libm("fabs"),
    "sqrt": _libm("sqrt"),
    "rsqrt": "    return 1 / {m}sqrt{s}(a);",
    "floor": _libm("floor"),
    "ceil": _libm("ceil"),
    "round": _libm("rint"),
    "exp": _libm("exp"),
    "log": _libm("log"),
    "tanh": _libm("tanh"),
    "erf": _libm("erf"),
    "sin": _libm("sin"),
    "cos": _libm("cos"),
    "pow": "    return {m}pow{s}(a, b);",
    "floordiv": """\
    if (b == 0)
        return a / b;
    {t} rest = {m}fmod{s}(a, b), q = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0))
        q -= 1;
    {t} whole = {m}floor{s}(q);
    return q == 0 ? {m}copysign{s}(({t})0, a / b) : q - whole > ({t})0.5 ? whole + 1 : whole;""",
    "mod": """\
    {t} rest = {m}fmod{s}(a, b);
    if (b == 0)
        return rest;
    if (rest == 0)
        return {m}copysign{s}(({t})0, b);
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

# Functions of a vector a of type {f}: {n} lanes of f32. {i} and {u} are signed and unsigned lanes
# of the same size; {exp} and {select} are helpers of as many lanes. NaN passes through. The errors
# that the comments state hold for all finite arguments (tests/codegen/test_math.py).
_EXP = """\
    /* e^a = 2^n e^r, n = round(a / ln 2), |r| <= ln 2 / 2; the polynomial is a minimax fit.
       Beyond the ends the result is 0 or infinity. At most 1 ulp, 1.2 without fused multiply-adds.
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

_LOG = """\
    /* a = 2^n (1 + r), sqrt 1/2 <= 1 + r < sqrt 2; ln (1 + r) = r - r^2/2 + r^3 p(r), p a minimax
       fit. Subnormals are scaled by 2^23 first. At most 1 ulp. */
    {i} tiny = a < 1.17549435e-38f;
    {f} x = {select}(tiny, a * 8388608.0f, a);
    {i} bits = ({i})x - 0x3f3504f3;
    {f} n = __builtin_convertvector((bits >> 23) - (tiny & 23), {f});
    {f} r = ({f})((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
    {f} s = r * r;
    {f} p = r * -0.0763443f + 0.1276155f;
    p = p * r - 0.13160194f;
    p = p * r + 0.14201762f;
    p = p * r - 0.16623357f;
    p = p * r + 0.20001227f;
    p = p * r - 0.25000823f;
    p = p * r + 0.3333333f;
    {f} y = r * s * p - n * 2.12194440e-4f;
    y = y - s * 0.5f;
    y = r + y;
    y = y + n * 0.693359375f;
    {f} low = {select}(a == 0.0f, -__builtin_inff() - ({f}){}, __builtin_nanf("") - ({f}){});
    return {select}(a > 3.40282347e38f, a, {select}(a > 0.0f, y, low));"""

_TANH = """\
    /* Near 0, a + a^3 p(a^2), p a minimax fit; elsewhere 1 - 2 / (e^2a + 1). At most 2 ulp. */
    {u} sign = ({u})a & 0x80000000u;
    {f} size = ({f})(({u})a ^ sign);
    {f} s = size * size;
    {f} p = s * -0.0057049785f + 0.020639079f;
    p = p * s - 0.05373971f;
    p = p * s + 0.13331442f;
    p = p * s - 0.3333328f;
    {f} small = size + size * (s * p);
    {f} large = 1.0f - 2.0f / ({exp}(size + size) + 1.0f);
    return ({f})(({u}){select}(size < 0.625f, small, large) | sign);"""

_ERF = """\
    /* Near 0, a + a p(a^2); elsewhere 1 - e^-q(a); p and q are minimax fits. At most 2 ulp. */
    {u} sign = ({u})a & 0x80000000u;
    {f} size = ({f})(({u})a ^ sign);
    {f} s = size * size;
    {f} p = s * 8.382384e-05f - 0.0008145596f;
    p = p * s + 0.0052012857f;
    p = p * s - 0.0268595f;
    p = p * s + 0.11283697f;
    p = p * s - 0.37612635f;
    p = p * s + 0.12837917f;
    {f} small = size + size * p;
    {f} t = {select}(size > 4.0f, 4.0f - ({f}){}, size);
    {f} q = t * -0.00019708584f + 0.0030544524f;
    q = q * t - 0.02227157f;
    q = q * t + 0.104023926f;
    q = q * t + 0.6370774f;
    q = q * t + 1.1277376f;
    q = q * t + 0.0001807173f;
    {f} large = 1.0f - {exp}(-q);
    return ({f})(({u}){select}(size < 0.92f, small, large) | sign);"""

#: f32 to the bits of the nearest bf16, and back; scalars and vectors {b} of bits.
TO_BF16 = """\
    union { float value; unsigned bits; } u = {a};
    return a != a ? u.bits >> 16 | 64 : (u.bits + 0x7fff + (u.bits >> 16 & 1)) >> 16;"""
FROM_BF16 = """\
    union { unsigned bits; float value; } u = {(unsigned)a << 16};
    return u.value;"""
TO_BF16_VECTOR = """\
    {u} bits = ({u})a, is_nan = ({u})(a != a);
    {u} nearest = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return __builtin_convertvector((nearest & ~is_nan) | ((bits >> 16 | 64) & is_nan), {b});"""
FROM_BF16_VECTOR = """\
    return ({f})(__builtin_convertvector(a, {u}) << 16);"""

#: Bodies by operator.
VECTOR_FORMS: Mapping[str, str] = {"exp": _EXP, "log": _LOG, "tanh": _TANH, "erf": _ERF}

#: Any float type {t}, scalar or vector. e^-|a| does not overflow, and both ends keep their digits.
SIGMOID = """\
    /* In f32 at most 3 ulp. */
    {t} e = {exp}(-{abs}(a)), one = 1 - ({t}){0};
    return {side} / (1 + e);"""
