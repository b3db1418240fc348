"""Inline functions that a kernel's text carries: operators with no sign of their own.

A helper is asked for by key and named NAME_op_f32 or NAME_op_f32x16. Most vector helpers apply
the scalar one lane by lane, a loop that compilers turn back into one instruction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tuner.codegen.dialect import Dialect
from tuner.codegen.math_c import (
    BINARY,
    FLOAT_FORMS,
    FROM_BF16,
    FROM_BF16_VECTOR,
    INTEGER_FORMS,
    LIBM,
    SIGMOID,
    TO_BF16,
    TO_BF16_VECTOR,
    UNSIGNED_FORMS,
    VECTOR_FORMS,
)
from tuner.dtypes import BF16, DTYPES, F32, F64, DType
from tuner.errors import CodegenError

#: bytes of the shortest vector that reductions are done in
MIN_BYTES = 16
#: lanes of f32 for which Dialect.whole_register has bodies
_WHOLE = 16
#: what stands behind the name of an instruction on vectors of these
_SUFFIX = {F32: "ps", F64: "pd"}


@dataclass(frozen=True, slots=True)
class Helper:
    """`op` of operands of `dtype`, in `lanes`; `other` is the result's dtype of a conversion."""

    op: str
    dtype: DType
    lanes: int = 1
    other: DType | None = None


def vector_type(dtype: DType, lanes: int) -> str:
    """f32x16, or f32 for a scalar."""
    return f"{dtype}x{lanes}" if lanes > 1 else str(dtype)


@dataclass(slots=True)
class Helpers:
    """The helpers and vector types that one kernel needs, in an order in which they can stand."""

    name: str
    dialect: Dialect
    texts: dict[Helper, str] = field(default_factory=dict)
    vectors: dict[str, tuple[DType, int]] = field(default_factory=dict)
    #: whether some function comes from the maths library
    libm: bool = False

    def call(self, helper: Helper) -> str:
        """The name of `helper`, whose text is made the first time."""
        if helper not in self.texts:
            text = self._text(helper)
            self.texts[helper] = text
        return self._name(helper)

    def vector(self, dtype: DType, lanes: int) -> str:
        """The file-level name of a type; vector types are declared when first asked for."""
        if lanes == 1:
            return self.dialect.type(dtype)
        self.dialect.type(dtype)
        if not self.dialect.vectors:
            raise CodegenError(
                f"{self.dialect.name} has no vector of {lanes} {dtype} here: leave loops serial or "
                f"bind them to threads"
            )
        self.vectors[vector_type(dtype, lanes)] = (dtype, lanes)
        return f"{self.name}_{vector_type(dtype, lanes)}"

    def mask(self, dtype: DType, lanes: int) -> str:
        """The type that comparing two vectors gives."""
        return self.vector(DTYPES[self.dialect.masks[dtype.name]], lanes)

    def _name(self, helper: Helper) -> str:
        to = f"_{helper.other}" if helper.other else ""
        return f"{self.name}_{helper.op}{to}_{vector_type(helper.dtype, helper.lanes)}"

    def _text(self, helper: Helper) -> str:
        if helper.op.startswith("reduce_"):
            return self._reduction(helper)
        if helper.op == "select":
            return self._select(helper)
        if helper.op == "sigmoid":
            return self._sigmoid(helper)
        if helper.op in self.dialect.vector_ops and helper.dtype in _SUFFIX and helper.lanes > 1:
            return self._vector_op(helper)
        if helper.op in VECTOR_FORMS and helper.dtype == F32 and self.dialect.vectors:
            return self._vector_form(helper)
        if helper.other and BF16 in (helper.dtype, helper.other):
            return self._bf16(helper, helper.other)
        return self._lanewise(helper) if helper.lanes > 1 else self._scalar(helper)

    def _head(self, helper: Helper, result: str, params: str) -> str:
        return f"static inline {result} {self._name(helper)}({params})"

    def _scalar(self, helper: Helper) -> str:
        dtype, kind = helper.dtype, self.dialect.type(helper.dtype)
        if helper.other:
            return self._saturating(helper, helper.other)
        forms = {"float": FLOAT_FORMS, "int": INTEGER_FORMS}.get(dtype.kind, UNSIGNED_FORMS)
        if helper.op not in forms:
            raise CodegenError(f"{self.dialect.name} has no {helper.op} of {dtype}")
        if dtype.is_float and helper.op in LIBM:
            self.libm = True
        text = forms[helper.op].replace("{s}", self.dialect.maths.get(dtype.name, ""))
        text = text.replace("{m}", self.dialect.maths_prefix)
        text = text.replace("{t}", kind)
        text = text.replace("{u}", self.dialect.unsigned.get(dtype.name, kind))
        params = f"{kind} a, {kind} b" if helper.op in BINARY else f"{kind} a"
        return self._head(helper, kind, params) + "\n{\n" + text + "\n}\n"

    def _lanewise(self, helper: Helper) -> str:
        scalar = self.call(Helper(helper.op, helper.dtype, 1, helper.other))
        operand = self.vector(helper.dtype, helper.lanes)
        result = self.vector(helper.other or helper.dtype, helper.lanes)
        binary = helper.op in BINARY
        params = f"{operand} a, {operand} b" if binary else f"{operand} a"
        call = f"{scalar}(a[i], b[i])" if binary else f"{scalar}(a[i])"
        return self._head(helper, result, params) + (
            f"\n{{\n    {result} r;\n    for (int i = 0; i < {helper.lanes}; i++)\n"
            f"        r[i] = {call};\n    return r;\n}}\n"
        )

    def _saturating(self, helper: Helper, to: DType) -> str:
        """Float to integer: truncates; NaN gives 0."""
        kind, suffix = self.dialect.type(to), self.dialect.literal[helper.dtype.name]
        high = 2 ** (to.bits - (to.kind == "int"))
        low = -high if to.kind == "int" else 0
        least = f"({kind})(-{high - 1} - 1)" if low else "0"
        return self._head(helper, kind, f"{self.dialect.type(helper.dtype)} a") + (
            f"\n{{\n    return a != a ? 0 : a >= {float(high)!r}{suffix} ? ({kind}){high - 1}"
            f" : a <= {float(low)!r}{suffix} ? {least} : ({kind})a;\n}}\n"
        )

    def _bf16(self, helper: Helper, to: DType) -> str:
        """f32 to bf16, or back."""
        operand, result = (self.vector(t, helper.lanes) for t in (helper.dtype, to))
        if helper.lanes == 1:
            body = TO_BF16 if to == BF16 else FROM_BF16
        else:
            body = TO_BF16_VECTOR if to == BF16 else FROM_BF16_VECTOR
            body = body.replace("{u}", self.unsigned(DTYPES["i32"], helper.lanes))
            body = body.replace("{f}" if to == F32 else "{b}", result)
        return self._head(helper, result, f"{operand} a") + "\n{\n" + body + "\n}\n"

    def _select(self, helper: Helper) -> str:
        kind, mask = (f(helper.dtype, helper.lanes) for f in (self.vector, self.mask))
        return self._head(helper, kind, f"{mask} m, {kind} a, {kind} b") + (
            f"\n{{\n    return ({kind})((m & ({mask})a) | (~m & ({mask})b));\n}}\n"
        )

    def _sigmoid(self, helper: Helper) -> str:
        kind = self.vector(helper.dtype, helper.lanes)
        side = "(a < 0 ? e : one)"
        if helper.lanes > 1:
            side = f"{self._beside(helper, 'select')}(a < 0, e, one)"
        body = SIGMOID.replace("{t}", kind).replace("{side}", side)
        for name in ("exp", "abs"):
            body = body.replace(f"{{{name}}}", self._beside(helper, name))
        return self._head(helper, kind, f"{kind} a") + "\n{\n" + body + "\n}\n"

    def _beside(self, helper: Helper, op: str) -> str:
        """The helper `op` of the same type and lanes."""
        return self.call(Helper(op, helper.dtype, helper.lanes))

    def _vector_form(self, helper: Helper) -> str:
        """Short forms, the scalar one first of all, are lanes of a vector, so that all round
        alike."""
        whole = self.dialect.whole_register
        lanes = _WHOLE if helper.op in whole else max(4, helper.lanes)
        if helper.lanes < lanes:
            body = self._part_of(helper, lanes)
        else:
            body = (whole.get(helper.op) or VECTOR_FORMS[helper.op]).replace(
                "{f}", self.vector(F32, lanes)
            )
            body = body.replace("{n}", str(lanes))
            body = body.replace("{u}", self.unsigned(DTYPES["i32"], lanes))
            if "{i}" in body:
                body = body.replace("{i}", self.mask(F32, lanes))
            for name in ("exp", "select"):
                if f"{{{name}}}" in body:
                    body = body.replace(f"{{{name}}}", self._beside(helper, name))
        kind = self.vector(F32, helper.lanes)
        return self._head(helper, kind, f"{kind} a") + "\n{\n" + body + "\n}\n"

    def _part_of(self, helper: Helper, lanes: int) -> str:
        """The body of a form that is part of the one of `lanes`."""
        longer, vector = self.call(Helper(helper.op, F32, lanes)), self.vector(F32, lanes)
        if helper.lanes == 1:
            return f"    return {longer}(a - ({vector}){{}})[0];"
        wide = shuffled("a", "a", [i % helper.lanes for i in range(lanes)])
        return (
            f"    {vector} whole = {longer}({wide});\n"
            f"    return {shuffled('whole', 'whole', range(helper.lanes))};"
        )

    def _vector_op(self, helper: Helper) -> str:
        kind = self.vector(helper.dtype, helper.lanes)
        body = self.dialect.vector_ops[helper.op].replace("{f}", kind)
        body = body.replace("{n}", str(helper.lanes)).replace("{s}", _SUFFIX[helper.dtype])
        return self._head(helper, kind, f"{kind} a, {kind} b") + "\n{\n" + body + "\n}\n"

    def _reduction(self, helper: Helper) -> str:
        """A tree: the upper half onto the lower, in shorter vectors down to 16 bytes, then by
        turning the lanes."""
        op, dtype, lanes = helper.op.removeprefix("reduce_"), helper.dtype, helper.lanes
        kind, scalar, half = self.vector(dtype, lanes), self.dialect.type(dtype), lanes // 2
        if half * dtype.bytes >= MIN_BYTES:
            rest, part = self.call(Helper(helper.op, dtype, half)), self.vector(dtype, half)
            lines = [
                f"{part} low = {shuffled('a', 'a', range(half))};",
                f"{part} high = {shuffled('a', 'a', range(half, lanes))};",
                f"return {rest}({self.combine(op, dtype, half, 'low', 'high')});",
            ]
        else:
            lines = []
            while half:
                turned = shuffled("a", "a", [(i + half) % lanes for i in range(lanes)])
                lines += [f"{kind} b{half} = {turned};"]
                lines += [f"a = {self.combine(op, dtype, lanes, 'a', f'b{half}')};"]
                half //= 2
            lines += ["return a[0];"]
        text = "\n".join(f"    {line}" for line in lines)
        return self._head(helper, scalar, f"{kind} a") + "\n{\n" + text + "\n}\n"

    def combine(self, op: str, dtype: DType, lanes: int, a: str, b: str) -> str:
        """`a op b` for an operator that may be reduced with; `a`, `b` are primaries."""
        if op in ("min", "max"):
            return f"{self.call(Helper(op, dtype, lanes))}({a}, {b})"
        sign = {"add": "+", "mul": "*"}[op]
        if dtype.is_float:
            return f"{a} {sign} {b}"
        kind, wide = self.vector(dtype, lanes), self.unsigned(dtype, lanes)
        return f"({kind})(({wide}){a} {sign} ({wide}){b})"

    def unsigned(self, dtype: DType, lanes: int) -> str:
        """The type in which integer arithmetic on `dtype` wraps."""
        if lanes == 1:
            return self.dialect.unsigned[dtype.name]
        name = f"u{dtype.bits}x{lanes}"
        self.vectors[name] = (DType(f"u{dtype.bits}", "uint", dtype.bits), lanes)
        return f"{self.name}_{name}"

    def typedefs(self) -> list[str]:
        """Declarations of the vector types; NAME_f32x16u is the one for memory: any alignment,
        and allowed to alias the elements."""
        out = []
        for short, (dtype, lanes) in self.vectors.items():
            element, size = self._element(dtype), lanes * dtype.bytes
            full = f"{self.name}_{short}"
            out.append(f"typedef {element} {full} __attribute__((vector_size({size})));")
            out.append(
                f"typedef {element} {full}u"
                f" __attribute__((vector_size({size}), aligned({dtype.bytes}), may_alias));"
            )
        return out

    def _element(self, dtype: DType) -> str:
        if dtype.name in self.dialect.types:
            return self.dialect.type(dtype)
        return self.dialect.unsigned[f"i{dtype.bits}"]


def shuffled(first: str, second: str, picks: Iterable[int]) -> str:
    """The lanes of `first`, continued by those of `second`, at the places `picks`."""
    return f"__builtin_shufflevector({first}, {second}, {', '.join(map(str, picks))})"
