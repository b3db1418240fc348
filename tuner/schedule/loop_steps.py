"""Steps on loops: all but split, tile, reorder, unroll and vectorize."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fuse:
    """Two loops, one directly inside the other, become one."""

    outer: str
    inner: str
    fused: str


@dataclass(frozen=True, slots=True)
class Partition:
    """The loop runs up to iteration `at`; a copy of it runs from there."""

    loop: str
    #: the first iteration of the copy
    at: int
    #: loops of the copy: one for `loop` and one for each loop below it, in the program's order
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AddUnitLoop:
    """A loop of one iteration around `loop`."""

    loop: str
    unit: str


@dataclass(frozen=True, slots=True)
class Parallel:
    """Threads share the loop's iterations."""

    loop: str


@dataclass(frozen=True, slots=True)
class Annotate:
    """A remark on the loop, for those who read the program or its generated text."""

    loop: str
    note: str


@dataclass(frozen=True, slots=True)
class Prefetch:
    """What the loop reads of `buffer` is fetched into the caches `ahead` iterations early."""

    buffer: str
    loop: str
    ahead: int


@dataclass(frozen=True, slots=True)
class Bind:
    """The loop's iterations become blocks or threads along `axis`: blockIdx.x … threadIdx.z."""

    loop: str
    axis: str
