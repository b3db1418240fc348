"""What differs between the languages of the C family, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuner.dtypes import DType
from tuner.errors import CodegenError
from tuner.ir.nodes import LoopKind, Scope


@dataclass(frozen=True, slots=True)
class Dialect:
    """One language: the tables that the shared printer and the helper functions read."""

    name: str
    #: element types by dtype name; one that is missing cannot be said
    types: Mapping[str, str]
    #: unsigned types of the same size, in which integer arithmetic wraps
    unsigned: Mapping[str, str]
    #: suffixes of literals, and of the maths functions
    literal: Mapping[str, str]
    maths: Mapping[str, str]
    #: signed integer dtype of the mask that comparing vectors gives
    masks: Mapping[str, str]
    #: the line before a loop whose iterations {threads} threads share; "" where there is none
    parallel: str
    #: the statement that fetches {place} into the caches; "" where there is none
    prefetch: str
    infinity: str
    nan: str
    #: what stands before the name of a maths function
    maths_prefix: str
    #: whether lanes can be said, in the vector extensions of GCC and Clang
    vectors: bool
    #: qualifiers, with a space behind, of memory by its scope
    spaces: Mapping[Scope, str]
    #: the place of a thread and of its block along each axis; none where there are no blocks
    places: Mapping[LoopKind, str]
    #: the statement at which the threads of a block wait for each other; "" for none
    barrier: str
    #: bodies of helpers that are instructions of their own: min and max of any vector of floats,
    #: and functions of 16 f32
    vector_ops: Mapping[str, str] = field(default_factory=dict)
    whole_register: Mapping[str, str] = field(default_factory=dict)

    def type(self, dtype: DType) -> str:
        """The scalar type. Raises CodegenError where the dialect has none."""
        if dtype.name not in self.types:
            raise CodegenError(f"{self.name} has no type for {dtype}; cast to f32 or f16 instead")
        return self.types[dtype.name]
