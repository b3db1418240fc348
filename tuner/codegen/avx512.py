"""What AVX-512 says in one instruction and C does not, as bodies of helper functions.

Inline assembly, since GCC and Clang name their builtins differently. Templates as in
tuner.codegen.math_c; {s} is the suffix of an instruction: ps for f32, pd for f64.
"""

from __future__ import annotations

from collections.abc import Mapping

#: features that a target must have for what is here
FEATURES = frozenset({"avx512f", "avx512dq", "avx512vl"})

# vmaxps and vminps give their second operand where one is NaN.
_EXTREMUM = """\
    {f} r;
    __asm__("v{op}{s} %2, %1, %0" : "=v"(r) : "v"(a), "v"(b));
    for (int i = 0; i < {n}; i++)
        r[i] = a[i] != a[i] ? a[i] : r[i];
    return r;"""

_EXP = """\
    /* e^a = 2^n e^r, n = a / ln 2 rounded to sixteenths, |r| <= ln 2 / 32; the polynomial is a
       minimax fit. 2^n is a whole power times one of 16 values, which the low bits of t choose.
       Far beyond the ends r is no rest any more: vrangeps makes it 1 at most, also for NaN, and
       vscalefps gives 0, infinity or NaN by n. At most 1.1 ulp. */
    const {f} powers = {
        1.0f, 1.04427373f, 1.09050775f, 1.13878858f, 1.18920708f, 1.24185777f, 1.29683959f,
        1.35425556f, 1.41421354f, 1.47682619f, 1.54221082f, 1.61049032f, 1.68179286f, 1.75625217f,
        1.8340081f, 1.91520655f,
    };
    {f} t = a * 1.44269504f + 786432.0f;
    {f} n = t - 786432.0f;
    {f} r = a - n * 0.693147182f;
    r = r + n * 1.90465432e-9f;
    {f} p, one = 1.0f - ({f}){};
    __asm__("vrangeps $2, %2, %1, %0" : "=v"(r) : "v"(r), "v"(one));
    __asm__("vpermps %2, %1, %0" : "=v"(p) : "v"(t), "v"(powers));
    {f} q = r * 0.16666718f + 0.50000015f;
    q = q * r + 1.0f;
    q = q * r;
    p = p * q + p;
    __asm__("vscalefps %2, %1, %0" : "=v"(p) : "v"(p), "v"(n));
    return p;"""

#: Of any vector of f32 or f64.
VECTOR_OPS: Mapping[str, str] = {op: _EXTREMUM.replace("{op}", op) for op in ("min", "max")}
#: Of 16 f32; shorter vectors are part of one, so that all round alike.
WHOLE_REGISTER: Mapping[str, str] = {"exp": _EXP}
