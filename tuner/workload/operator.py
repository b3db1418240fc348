"""An operator of the catalogue: program text from sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

#: A size, or a word such as an activation.
Size = int | str
Sizes = Mapping[str, Size]

#: Sizes that may be zero; all others are at least one.
MAY_BE_ZERO = frozenset(("pad", "start"))


@dataclass(frozen=True, slots=True)
class Operator:
    """One row of the catalogue."""

    name: str
    #: one sentence for people
    doc: str
    #: name of each size -> its default, None where it must be given; the name of a size before it
    #: stands for that size's value
    sizes: Mapping[str, Size | None]
    #: the inputs'; contractions of narrow types write a wider one (tuner.workload.product)
    dtypes: tuple[str, ...]
    #: program text from all sizes and a dtype; raises WorkloadError where the sizes do not fit
    text: Callable[[Mapping[str, int], Mapping[str, str], str], str]
    #: name of each word among the sizes -> the words it may be
    words: Mapping[str, tuple[str, ...]]
