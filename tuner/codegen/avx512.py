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
    q = r * r * q + r;
    p = p * q + p;
    __asm__("vscalefps %2, %1, %0" : "=v"(p) : "v"(p), "v"(n));
    return p;"""

#: coefficients of the pieces, 16 for each power, lowest first
_ERF_PIECES = (
    """\
        0.0f, 0.284857482f, 0.534558892f, 0.726428628f, 0.855664134f, 0.931967556f, 0.97145766f,
        0.989372313f, 0.996495962f, 0.998978794f, 0.999737322f, 0.999940455f, 0.999988079f,
        0.999997914f, 0.999999702f, 0.99999994f""",
    """\
        0.291194618f, 0.27243349f, 0.223096117f, 0.159910813f, 0.10032703f, 0.0550950319f,
        0.0264826361f, 0.0111420294f, 0.0041031912f, 0.00132261519f, 0.000373163872f,
        9.21552346e-05f, 1.99202477e-05f, 3.76897992e-06f, 6.24176209e-07f, 9.04784017e-08f""",
    """\
        1.74151999e-08f, -0.0181426238f, -0.0297149997f, -0.0319494084f, -0.0267265234f,
        -0.0183469299f, -0.0105831632f, -0.00519404002f, -0.0021867652f, -0.00079192681f,
        -0.00024812069f, -6.80213489e-05f, -1.50922597e-05f, -3.40493739e-06f, -1.38476184e-06f,
        4.11431898e-07f""",
    """\
        -0.00646451395f, -0.00524176005f, -0.00231421273f, 0.000705319864f, 0.00251910137f,
        0.00284950971f, 0.00223103305f, 0.00136696757f, 0.000685384322f, 0.00028740798f,
        0.000102051825f, 3.09234565e-05f, 8.03873627e-06f, 1.79941946e-06f, 3.47793332e-07f,
        5.81651314e-08f""",
    """\
        1.25609313e-06f, 0.000571486889f, 0.00080937217f, 0.000639104401f, 0.000260280009f,
        -6.1427425e-05f, -0.000205011529f, -0.000203477335f, -0.000131417983f, -7.20280732e-05f,
        -3.02316748e-05f, -7.87916179e-06f, -6.20522314e-06f, -1.51209861e-07f, 3.05799449e-06f,
        -2.03449986e-06f""",
    """\
        0.000127018415f, 8.70182994e-05f, 4.02502928e-06f, -6.38962229e-05f, -7.72124404e-05f,
        -4.77310787e-05f, -1.0920442e-05f, 1.04239352e-05f, 1.48116251e-05f, 1.06798707e-05f,
        5.56186751e-06f, 2.27867167e-06f, 7.61605861e-07f, 2.11952553e-07f, 4.96792474e-08f,
        9.88551729e-09f""",
)

_LOOK_UP = '__asm__("vpermps %2, %1, %0" : "=v"({to}) : "v"(t), "v"({table}));'
_ERF = "\n".join((
    """\
    /* erf |a| in 16 pieces between 0 and 4, each a polynomial of degree 5 in its own r, minimax
       fits; the low bits of t choose the piece. vminps lets NaN pass. At most 2.5 ulp. */""",
    *(f"    const {{f}} c{i} = {{\n{c},\n    }};" for i, c in enumerate(_ERF_PIECES)),
    """\
    {u} sign = ({u})a & 0x80000000u;
    {f} size = ({f})(({u})a ^ sign), end = 3.99f - ({f}){};
    __asm__("vminps %2, %1, %0" : "=v"(size) : "v"(end), "v"(size));
    {f} t = size * 3.875f + 12582912.0f;
    {f} n = t - 12582912.0f;
    {f} r = size * 3.875f - n;
    {f} p, c;""",
    "    " + _LOOK_UP.format(to="p", table="c5"),
    *(
        f"    {_LOOK_UP.format(to='c', table=f'c{i}')}\n    p = p * r + c;"
        for i in reversed(range(5))
    ),
    "    return ({f})(({u})p | sign);",
))  # fmt: skip

#: Of any vector of f32 or f64.
VECTOR_OPS: Mapping[str, str] = {op: _EXTREMUM.replace("{op}", op) for op in ("min", "max")}
#: Of 16 f32; shorter vectors are part of one, so that all round alike.
WHOLE_REGISTER: Mapping[str, str] = {"exp": _EXP, "erf": _ERF}
