"""Steps that move values between buffers and statements, and change how buffers are laid out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReverseComputeAt:
    """The nest that computes `buffer` moves into `loop` of the nest before it, whose tile it
    uses."""

    buffer: str
    loop: str


@dataclass(frozen=True, slots=True)
class Inline:
    """The expression that computes `buffer` takes the place of every read of it."""

    buffer: str


@dataclass(frozen=True, slots=True)
class ReverseInline:
    """The one statement that reads `buffer` takes the place of the one that computes it."""

    buffer: str


@dataclass(frozen=True, slots=True)
class CacheRead:
    """The tile of `buffer` that the body of `loop` reads is first copied into `cache`."""

    buffer: str
    loop: str
    cache: str
    #: "local" or "global"
    scope: str
    #: dimension of `buffer` behind each dimension of the cache; () keeps the buffer's order
    order: tuple[int, ...]
    #: loops of the copy, one per dimension of the buffer
    loops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetScope:
    """The intermediate `buffer` lives in another scope."""

    buffer: str
    #: "local" or "global"
    scope: str


@dataclass(frozen=True, slots=True)
class TransformLayout:
    """The elements of the intermediate `buffer` are laid out as `layout` says."""

    buffer: str
    #: one text per new axis: "d", "d//factor" or "d%factor" of the buffer's dimension d
    layout: tuple[str, ...]
    #: extents to which the old dimensions are rounded up; () where all factors divide
    padded: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pad:
    """The reduction's `loop` runs over `extent` iterations; those added change nothing."""

    loop: str
    extent: int
